// The door of the browser, in Node: `MeshmapObject` of the npm package, as three.js draws it.
//
//     node browser.mjs WEB    the folder crates/web, with pkg and node_modules
//
// Reads requests from standard input, one JSON object a line, and answers each with one line: `{ path }` opens a file, and `{
// moment, output }` writes the vertices at a moment to a file: numbers of 64 bits, which the answer describes.
import { openSync, readFileSync, writeSync, closeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const web = process.argv[2];
const three = await import(pathToFileURL(createRequire(join(web, 'package.json')).resolve('three').replace(/three\.cjs$/, 'three.module.js')));
const { AnimationMixer, LoopOnce, Matrix3, Matrix4, Vector3, Vector4 } = three;
const { MeshmapObject } = await import(pathToFileURL(join(web, 'pkg/three.js')));

/** Names of images that the loader asks for. Each is there: the door is the name, not the picture. */
let images = [];
globalThis.document = {
    createElementNS() {
        const listeners = new Map();
        return {
            addEventListener: (kind, listener) => listeners.set(kind, listener),
            removeEventListener: (kind) => listeners.delete(kind),
            set src(address) {
                images.push(decodeURIComponent(new URL(address).pathname));
                queueMicrotask(() => listeners.get('load')?.call(this));
            },
        };
    },
};

let object = null;
let mixer = null;

async function open({ path }) {
    object?.dispose();
    object = mixer = null;
    images = [];
    const folder = pathToFileURL(`${dirname(path)}/`).href;
    object = await MeshmapObject.open(readFileSync(path), { textures: folder });
    const names = [];
    object.traverse(({ userData }) => names.push(userData.meshmap?.material ?? ''));
    const start = decodeURIComponent(new URL(folder).pathname);
    return {
        names: [...names, ...images.map((image) => image.startsWith(start) ? image.slice(start.length) : image)],
        clips: object.animations.map(({ name }) => name),
        errors: object.errors.map(({ message }) => message),
        snapshots: object.file.info.snapshots?.count ?? 0,
    };
}

/** Shows a moment. Returns the reason if the object does not have it. */
async function show({ kind, clip, frame, seconds, name }) {
    mixer?.stopAllAction();
    mixer = null;
    if (kind === 'snapshot' || kind === 'between') await object.setSnapshot(frame);
    if (kind === 'level') await object.setLevel(name === 'all' ? 0 : name);
    if (kind !== 'clip') return '';
    const animation = object.animations[clip];
    if (!animation) return `${object.animations.length} animations: ${object.errors.map(({ message }) => message).join('; ')}`;
    mixer = new AnimationMixer(object);
    const action = mixer.clipAction(animation);
    action.setLoop(LoopOnce);
    action.clampWhenFinished = true;
    action.play();
    // The times of frames are stored in single precision.
    mixer.setTime(Math.fround(seconds));
    return '';
}

/** Numbers of several arrays, one after the other in a file. */
class Sink {
    constructor(path) {
        this.file = openSync(path, 'w');
        this.place = 0;
    }

    add(array, width) {
        const entry = { start: this.place, count: array.length / width, width };
        writeSync(this.file, new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
        this.place += array.length;
        return entry;
    }
}

/** An attribute as numbers, by the methods that also know 16-bit floats. */
function numbers(attribute) {
    const { count, itemSize } = attribute;
    const out = new Float64Array(count * itemSize);
    ['getX', 'getY', 'getZ', 'getW'].slice(0, itemSize).forEach((get, component) => {
        for (let i = 0; i < count; i += 1) out[i * itemSize + component] = attribute[get](i);
    });
    return out;
}

/** Positions where three.js draws them. */
function positions(part) {
    const { count } = part.geometry.attributes.position;
    const out = new Float64Array(count * 3);
    const point = new Vector3();
    for (let i = 0; i < count; i += 1) {
        if (part.getVertexPosition) part.getVertexPosition(i, point);
        else point.fromBufferAttribute(part.geometry.attributes.position, i);
        point.applyMatrix4(part.matrixWorld).toArray(out, i * 3);
    }
    return out;
}

/** Normals upright on the surface that bones move. */
function normals(part) {
    const stored = numbers(part.geometry.attributes.normal);
    const own = part.isSkinnedMesh ? null : new Matrix3().getNormalMatrix(part.matrixWorld);
    const normal = new Vector3();
    for (let i = 0; i < stored.length; i += 3) {
        const matrix = own ?? new Matrix3().getNormalMatrix(boneMatrix(part, i / 3).premultiply(part.matrixWorld));
        const side = own ? 1 : Math.sign(matrix.determinant());
        normal.fromArray(stored, i).applyMatrix3(matrix).multiplyScalar(side).toArray(stored, i);
    }
    return stored;
}

/** The sum of the bones of a vertex by its weights, as the shader adds them. */
function boneMatrix(part, vertex) {
    const { skinIndex, skinWeight } = part.geometry.attributes;
    const [bones, weights] = [new Vector4().fromBufferAttribute(skinIndex, vertex), new Vector4().fromBufferAttribute(skinWeight, vertex)];
    const sum = new Matrix4().set(...Array(16).fill(0));
    for (let k = 0; k < 4; k += 1) {
        const weight = weights.getComponent(k);
        if (weight === 0) continue;
        const bone = bones.getComponent(k);
        const { elements } = new Matrix4().multiplyMatrices(part.skeleton.bones[bone].matrixWorld, part.skeleton.boneInverses[bone]);
        for (let e = 0; e < 16; e += 1) sum.elements[e] += weight * elements[e];
    }
    return sum.multiply(part.bindMatrix).premultiply(part.bindMatrixInverse);
}

async function write({ moment, output }) {
    const absent = await show(moment);
    if (absent) return { absent };
    object.updateMatrixWorld(true);
    const sink = new Sink(output);
    const parts = [];
    object.traverse((part) => {
        if (!part.geometry?.attributes.position) return;
        const { normal, color, uv } = part.geometry.attributes;
        const { index } = part.geometry;
        const material = [part.material].flat()[0];
        parts.push({
            isPoints: part.isPoints === true,
            isMirrored: part.matrixWorld.determinant() < 0,
            isFromTop: material?.map ? !material.map.flipY : object.file.info.conventions.vOrigin === 'top',
            positions: sink.add(positions(part), 3),
            normals: normal ? sink.add(normals(part), 3) : null,
            colors: color ? sink.add(numbers(color), color.itemSize) : null,
            texcoords: uv ? sink.add(numbers(uv), uv.itemSize) : null,
            index: index ? sink.add(Float64Array.from(index.array), 1) : null,
        });
    });
    const joints = [];
    object.traverse((part) => part.isBone && joints.push(...new Vector3().setFromMatrixPosition(part.matrixWorld).toArray()));
    const bones = sink.add(Float64Array.from(joints), 3);
    closeSync(sink.file);
    return { parts, bones };
}

for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answer;
    try {
        answer = await (request.path ? open(request) : write(request));
    } catch (error) {
        answer = { error: `${error.name}: ${error.message}`, kind: error.kind ?? '' };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
}
