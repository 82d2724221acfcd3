// Plays GLB files in three.js and compares what it shows with the library's own values.
//
//   play.mjs morphs GLB PC2       each 7th snapshot: the positions are bits of the point cache's
//   play.mjs skins GLB ANIMATION SECONDS < LINES of the example `skinned`
import { readFileSync } from 'node:fs';
import { AnimationMixer, LoopOnce, Vector3 } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

globalThis.self = globalThis;
const [, , what, path, ...rest] = process.argv;

async function load(path) {
  const file = readFileSync(path);
  const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  return new Promise((resolve, reject) => new GLTFLoader().parse(bytes, '', resolve, reject));
}

function showAt(gltf, clip, seconds) {
  const mixer = new AnimationMixer(gltf.scene);
  const action = mixer.clipAction(clip);
  action.setLoop(LoopOnce);
  action.clampWhenFinished = true;
  action.play();
  mixer.setTime(seconds);
  gltf.scene.updateMatrixWorld(true);
}

function meshesOf(gltf) {
  const meshes = [];
  gltf.scene.traverse(node => { if (node.isMesh) meshes.push(node); });
  return meshes;
}

function fail(message) {
  console.log(message);
  process.exit(1);
}

const gltf = await load(path);
if (what === 'morphs') {
  const file = readFileSync(rest[0]);
  const [points, samples] = [file.readInt32LE(16), file.readInt32LE(28)];
  const key = (x, y, z) => `${x},${y},${z}`;
  const times = gltf.animations[0].tracks[0].times;
  let compared = 0;
  for (let sample = 0; sample < samples; sample += 7) {
    const stored = new Set();
    for (let point = 0; point < points; point++) {
      const at = 32 + (sample * points + point) * 12;
      stored.add(key(file.readFloatLE(at) + 0, file.readFloatLE(at + 4) + 0, file.readFloatLE(at + 8) + 0));
    }
    showAt(gltf, gltf.animations[0], times[sample]);
    const seen = new Set();
    for (const mesh of meshesOf(gltf)) {
      const vertex = new Vector3();
      for (let index = 0; index < mesh.geometry.attributes.position.count; index++) {
        mesh.getVertexPosition(index, vertex);
        const shown = key(Math.fround(vertex.x) + 0, Math.fround(vertex.y) + 0, Math.fround(vertex.z) + 0);
        if (!stored.has(shown)) fail(`${path}: snapshot ${sample}, vertex ${index}: ${shown} is no position of the file`);
        seen.add(shown);
        compared++;
      }
    }
    if (seen.size === 0) fail(`${path}: snapshot ${sample} shows nothing`);
  }
  console.log(`three.js: ${path}: ${compared} positions of ${samples} snapshots are the file's, bit for bit`);
} else {
  const [animation, seconds] = rest.map(Number);
  showAt(gltf, gltf.animations[animation], seconds);
  const lines = readFileSync(0, 'utf8').trim().split('\n').map(line => line.split(' ').map(Number));
  const meshes = meshesOf(gltf).filter(mesh => mesh.isSkinnedMesh);
  const numbers = [...new Set(lines.map(([mesh]) => mesh))];
  // three.js lists the nodes in the order of the scene, which is the file's order.
  const root = gltf.scene.children[0].matrixWorld.clone().invert();
  let size = 0, worst = 0;
  for (const [mesh, vertex, x, y, z] of lines) {
    const shown = new Vector3();
    const skinned = meshes[numbers.indexOf(mesh)];
    skinned.getVertexPosition(vertex, shown);
    shown.applyMatrix4(skinned.matrixWorld).applyMatrix4(root);
    size = Math.max(size, Math.abs(x), Math.abs(y), Math.abs(z));
    worst = Math.max(worst, shown.distanceTo(new Vector3(x, y, z)));
  }
  const share = worst / size;
  if (!(share <= 3e-6)) fail(`${path}: a skinned vertex is off by ${share} of the size`);
  console.log(`three.js: ${path}: ${lines.length} skinned vertices within ${share.toExponential(1)} of the size`);
}
