// Reads a file with the npm package as it is installed, for .ci/release: prints the numbers of vertices and triangles.
import { readFileSync } from 'node:fs';
import { open } from 'meshmap';

const file = await open(readFileSync(process.argv[2]));
const { entries } = await file.meshes();
const mesh = await file.mesh(entries[0].address);
console.log(mesh.vertexCount, mesh.indices.length / 3);
file.close();
