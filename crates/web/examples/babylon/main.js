// A mesh file in Babylon.js, without three.js. Snapshots of CGeo files play.
import { ArcRotateCamera } from '@babylonjs/core/Cameras/arcRotateCamera.js';
import { Engine } from '@babylonjs/core/Engines/engine.js';
import { HemisphericLight } from '@babylonjs/core/Lights/hemisphericLight.js';
import { StandardMaterial } from '@babylonjs/core/Materials/standardMaterial.js';
import { Color4 } from '@babylonjs/core/Maths/math.color.js';
import { Matrix, Quaternion, Vector3 } from '@babylonjs/core/Maths/math.vector.js';
import { VertexBuffer } from '@babylonjs/core/Buffers/buffer.js';
import { Mesh } from '@babylonjs/core/Meshes/mesh.js';
import { VertexData } from '@babylonjs/core/Meshes/mesh.vertexData.js';
import { TransformNode } from '@babylonjs/core/Meshes/transformNode.js';
import { Scene } from '@babylonjs/core/scene.js';
import { open } from 'meshmap';

const engine = new Engine(document.getElementById('canvas'), true);
const scene = new Scene(engine);
scene.useRightHandedSystem = true;
scene.clearColor = Color4.FromHexString('#e9ecefff');
new HemisphericLight('light', new Vector3(0.5, 1, 0.7), scene);
const material = new StandardMaterial('grey', scene);
// Most formats do not specify the winding, so that both sides are drawn.
material.backFaceCulling = false;
const root = new TransformNode('root', scene);

/** The numbers of an attribute as floats, if they are stored so. */
const floats = (attribute) => (attribute?.type === 'f32' ? attribute.array : null);

const file = await open(new URLSearchParams(location.search).get('url') ?? 'model.cgeo');
const { snapshots } = file.info;
// The first snapshot, the finest level of detail, or all meshes. The matrix makes them upright and metres.
const contents = await file.scene();
Matrix.FromArray(contents.upright).decompose(root.scaling, (root.rotationQuaternion = new Quaternion()), root.position);
const meshes = [];
for (const [index, { address, name }] of contents.shapes.entries()) {
    const { attributes, indices } = await file.shape(contents, index, { attributes: ['position', 'normal', 'texcoord'] });
    const data = new VertexData();
    data.positions = floats(attributes.position);
    data.indices = indices;
    data.normals = floats(attributes.normal);
    data.uvs = floats(attributes.texcoord);
    if (!data.positions) continue;
    if (!data.normals) {
        data.normals = new Float32Array(data.positions.length);
        VertexData.ComputeNormals(data.positions, indices, data.normals, { useRightHandedSystem: true });
    }
    const mesh = new Mesh(name || address, scene);
    mesh.parent = root;
    mesh.material = material;
    data.applyToMesh(mesh, true);
    meshes.push(mesh);
}

/** Shows snapshots one after another, and fetches the next one meanwhile. */
async function play([mesh], { count, step }) {
    const wait = () => new Promise((done) => setTimeout(done, 1000 * step));
    for (let index = 0, next = file.moment(0, 0); ; index = (index + 1) % count) {
        const [moment] = await Promise.all([next, wait()]);
        next = file.moment(0, (index + 1) % count);
        // Without a moment, the triangles differ from the first snapshot: read the mesh.
        if (!moment) continue;
        mesh.updateVerticesData(VertexBuffer.PositionKind, moment.positions);
        if (moment.normals) mesh.updateVerticesData(VertexBuffer.NormalKind, moment.normals);
    }
}
if (snapshots?.step && snapshots.count > 1) play(meshes, snapshots).catch(console.error);

const { min, max } = root.getHierarchyBoundingVectors();
const radius = Vector3.Distance(min, max) / 2;
const camera = new ArcRotateCamera('camera', 1.1, 1.2, 3 * radius, Vector3.Center(min, max), scene);
camera.minZ = radius / 100;
camera.maxZ = 10 * radius;
camera.attachControl();
engine.runRenderLoop(() => scene.render());
addEventListener('resize', () => engine.resize());
