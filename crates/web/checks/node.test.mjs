// The package in Node: files by every kind of source, servers that misbehave, and the loader of three.js.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, openAsBlob, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

import { AnimationMixer, Box3, BufferAttribute, BufferGeometry, Color, LoopOnce, Matrix3, Matrix4, SRGBColorSpace, Vector3 } from 'three';
import { clone as cloneWithSkeletons } from 'three/addons/utils/SkeletonUtils.js';

import { MeshmapError, RemoteUrl, open } from '../pkg/index.js';
import { objectOf } from '../pkg/geometry.js';
import { rigOf, skinnedMesh } from '../pkg/rig.js';
import { MeshmapLoader, MeshmapObject } from '../pkg/three.js';
import { serve } from '../serve.mjs';

const data = fileURLToPath(new URL('../../../tests/data', import.meta.url));
const FORMATS = /** @type {const} */ (['cgeo', 'iqm', 'openctm', 'slmesh', 'tmf']);
const files = (format, folder) => readdirSync(join(data, format, folder)).filter((name) => !name.endsWith('.json'));
const SKINNED = 'iqm/valid/skin_multi_anim.iqm';
const LODS = 'slmesh/valid/nodemv_02_static_4lod.slmesh';

let server;
let work;
before(async () => {
    work = mkdtempSync(join(tmpdir(), 'meshmap-'));
    server = await serve({ '/data/': data, '/work/': work });
});
after(async () => {
    await server.close();
    rmSync(work, { recursive: true });
});

/** The address of a copy that is too large to be fetched whole. */
function large(path) {
    const name = path.replaceAll('/', '_');
    writeFileSync(join(work, name), Buffer.concat([readFileSync(join(data, path)), Buffer.alloc(2 ** 18)]));
    return `${server.origin}/work/${name}`;
}

/** All meshes of a file, by address. */
async function read(file) {
    const out = {};
    for (const level of file.info.levels.length ? file.info.levels.map(({ name }) => name) : ['']) {
        const { entries } = await file.meshes({ level });
        for (const { address } of entries) out[address] = await file.mesh(address);
    }
    return out;
}

/** The vertices of an object as they are drawn, mesh by mesh. */
function drawn(object) {
    const meshes = [];
    object.updateMatrixWorld(true);
    object.traverse((part) => {
        const { position } = part.geometry?.attributes ?? {};
        if (!position) return;
        const at = (i) => (part.getVertexPosition ? part.getVertexPosition(i, new Vector3()) : new Vector3().fromBufferAttribute(position, i));
        meshes.push(Array.from({ length: position.count }, (_, i) => at(i).applyMatrix4(part.matrixWorld)));
    });
    return meshes;
}

/** The largest distance between the vertices of two objects. */
function distance(a, b) {
    assert.deepEqual(a.map(({ length }) => length), b.map(({ length }) => length));
    return Math.max(0, ...a.flatMap((mesh, number) => mesh.map((point, i) => point.distanceTo(b[number][i]))));
}

/** An IQM file in which the first vertices have no weights. */
function withoutWeights(name, count) {
    const bytes = readFileSync(join(data, name));
    const arrays = Array.from({ length: bytes.readUInt32LE(44) }, (_, index) => bytes.readUInt32LE(52) + 20 * index);
    const at = arrays.find((at) => bytes.readUInt32LE(at) === 5);
    assert.deepEqual([bytes.readUInt32LE(at + 8), bytes.readUInt32LE(at + 12)], [1, 4], 'four bytes for each vertex');
    return bytes.fill(0, bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 16) + 4 * count);
}

async function kindOf(promise) {
    const error = await promise.then(() => null, (error) => error);
    assert.ok(error instanceof MeshmapError, `${error}`);
    return error.kind;
}

test('an address, a blob and bytes give the same', async () => {
    for (const format of FORMATS) {
        const name = files(format, 'valid').find((name) => !name.includes('empty'));
        const path = join(data, format, 'valid', name);
        const bytes = readFileSync(path);
        const found = [];
        for (const source of [`${server.origin}/data/${format}/valid/${name}`, await openAsBlob(path), bytes]) {
            const file = await open(source);
            assert.equal(file.format, format);
            assert.equal(file.stats.length, bytes.length);
            found.push([file.info, await read(file)]);
            file.close();
        }
        assert.deepEqual(found[0], found[1]);
        assert.deepEqual(found[0], found[2]);
    }
});

test('small files take two requests, and no byte comes twice', async () => {
    for (const format of FORMATS) {
        for (const name of files(format, 'valid')) {
            for (const first of [512, undefined]) {
                const file = await open(`${server.origin}/data/${format}/valid/${name}`, { first });
                await read(file).catch(() => {});
                const { requests, bytes, length } = file.stats;
                assert.ok(requests <= 2 && bytes <= length, `${name}: ${requests} requests, ${bytes} of ${length} bytes`);
            }
        }
    }
});

test('one level of detail takes two requests', async () => {
    const before = server.log.length;
    const file = await open(large(LODS), { first: 4096 });
    await file.meshes({ level: 'lowest_lod' });
    await file.mesh('lowest_lod.faces[0]');
    assert.equal(file.stats.requests, 2);
    assert.equal(server.log.length - before, 2);
    assert.ok(file.stats.bytes < file.stats.length);
});

test('nginx, with the lines of the README', { skip: !process.env.MESHMAP_NGINX && 'MESHMAP_NGINX names no server' }, async () => {
    const headers = { Range: 'bytes=0-9' };
    const response = await fetch(`${process.env.MESHMAP_NGINX}/${LODS}`, { headers });
    assert.equal(response.status, 206);
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    assert.match(response.headers.get('access-control-expose-headers') ?? '', /Content-Range, ETag/);
    for (const format of FORMATS) {
        for (const name of files(format, 'valid').slice(0, 5)) {
            const [near, far] = [await open(readFileSync(join(data, format, 'valid', name))), await open(`${process.env.MESHMAP_NGINX}/${format}/valid/${name}`)];
            assert.deepEqual([far.info, await read(far)], [near.info, await read(near)], name);
        }
    }
});

test('URLs print as in other languages', () => {
    const rows = JSON.parse(readFileSync(join(data, 'urls', 'shown.json'), 'utf8'));
    assert.ok(rows.length > 20);
    for (const { text, shown, name } of rows) {
        const url = new RemoteUrl(text);
        assert.deepEqual([String(url), url.name, url.withSecrets()], [shown, name, text]);
        for (const printed of [inspect(url), JSON.stringify(url), inspect({ url })]) assert.ok(!/secret/.test(printed), printed);
    }
});

test('no part of a URL that may be secret is in a message', async () => {
    const secret = /us3r|pa55|dXMzcjpwYTU1|s1gn|fr4g/;
    const address = `${server.origin}/data/${SKINNED}?sig=s1gn&k=x/s1gn.name#fr4g`;
    const withUser = (/** @type {string} */ url) => url.replace('://', '://us3r:pa55@');
    const shown = [];
    const failing = async (promise) => shown.push(inspect(await promise.then((file) => ({ file, info: file.info }), (error) => error), { depth: 9, showHidden: true }));
    server.manners.answer = () => ({ status: 403 });
    await failing(open(address, { retries: 0 }));
    server.manners.answer = undefined;
    // A URL with a user is refused by `fetch`, with the whole URL in its message.
    await failing(open(withUser(address), { retries: 0 }));
    await failing(open('http://us3r:pa55@host:99999/a.iqm?s1gn#fr4g', { retries: 0 }));
    await failing(open('http://us3r:pa/55@[::bad/a.iqm?s1gn#fr4g', { retries: 0 }));
    await failing(open('foo://us3r:pa55@host/a.iqm?s1gn#fr4g', { retries: 0 }));
    await failing(open(new RemoteUrl(address)));
    for (const text of shown) assert.ok(!secret.test(text), text);
    assert.match(shown[0], /403/);
    assert.match(shown.at(-1), /iqm|skeleton|format/);
});

test('messages have no user, password or query of an address', async () => {
    const secret = 'S3cretSignature';
    const address = `${server.origin}/data/${SKINNED}?signature=${secret}`;
    const messages = [];
    const failing = async (promise) => messages.push(await promise.then(() => 'no error', (error) => `${error.message} ${JSON.stringify(error)}`));
    const manners = [{ status: 503 }, { status: 404 }, { silent: true }, { cut: true }, { endless: true }];
    for (const manner of manners) {
        server.manners.answer = () => manner;
        await failing(open(address, { retries: 0, timeout: 0.2 }));
    }
    let count = 0;
    server.manners.answer = () => ((count += 1) > 1 ? { tag: '"other"' } : {});
    await failing(open(`${large(LODS)}?signature=${secret}`, { first: 512 }).then((file) => file.meshes({ level: 'high_lod' })));
    server.manners.answer = undefined;
    await failing(open(`http://127.0.0.1:9/none?signature=${secret}`, { retries: 0 }));
    await failing(open(`http://user:${secret}@127.0.0.1:9/none`, { retries: 0 }));
    await failing(open(`data:application/octet-stream;base64,${secret}`));
    for (const message of messages) {
        assert.ok(message !== 'no error' && !message.includes(secret), message);
    }
    assert.match(messages[0], /mesh|skin/i);
});

test('servers without ranges send the whole file, once', async () => {
    server.manners.ranges = false;
    try {
        const file = await open(`${server.origin}/data/${LODS}`);
        await read(file);
        assert.equal(file.stats.requests, 1);
        assert.equal(file.stats.bytes, file.stats.length);
        assert.equal(await kindOf(open(`${server.origin}/data/${LODS}`, { maxWhole: 100 })), 'response');
    } finally {
        server.manners.ranges = true;
    }
});

test('a file that changes in between is an error, never a mixture', async () => {
    for (const change of [{ tag: '"other"' }, {}]) {
        server.manners.answer = ({ count }) => (count > 1 ? change : {});
        const url = large(LODS);
        server.log.length = 0;
        const list = open(url, { first: 512 }).then((file) => file.meshes({ level: 'high_lod' }));
        if (change.tag) assert.equal(await kindOf(list), 'changed');
        else assert.equal((await list).total, 1);
    }
    server.manners.answer = undefined;
});

test('responses that are cut or fail for a while are asked for again', async () => {
    server.log.length = 0;
    server.manners.answer = ({ count }) => (count === 1 ? { status: 503 } : count === 2 ? { cut: true } : {});
    const file = await open(`${server.origin}/data/${SKINNED}`);
    assert.equal(file.format, 'iqm');
    assert.equal(file.stats.requests, 3);
    server.log.length = 0;
    server.manners.answer = () => ({ status: 503 });
    assert.equal(await kindOf(open(`${server.origin}/data/${SKINNED}`, { retries: 1 })), 'network');
    assert.equal(server.log.length, 2);
    server.manners.answer = undefined;
    assert.equal(await kindOf(open(`${server.origin}/data/none`)), 'response');
    assert.equal(await kindOf(open('http://127.0.0.1:9/none', { retries: 0 })), 'network');
});

test('servers that ask for patience, never end, or fall silent', async () => {
    const path = `${server.origin}/data/${SKINNED}`;
    const start = performance.now();
    server.log.length = 0;
    server.manners.answer = ({ count }) => (count <= 2 ? { status: 429, retryAfter: count === 1 ? 1 : 0 } : {});
    assert.equal((await open(path)).stats.requests, 3);
    assert.ok(performance.now() - start > 1000);
    for (const ranges of [true, false]) {
        const before = [performance.now(), process.memoryUsage().arrayBuffers];
        Object.assign(server.manners, { ranges, answer: () => ({ endless: true }) });
        await assert.rejects(open(path, { maxWhole: 1 << 20 }), { kind: 'response', message: /more than the \d+ bytes of the range/ });
        assert.ok(performance.now() - before[0] < 1000 && process.memoryUsage().arrayBuffers - before[1] < 20 << 20);
    }
    Object.assign(server.manners, { ranges: true, answer: () => ({ silent: true }) });
    await assert.rejects(open(path, { timeout: 0.2, retries: 1 }), { kind: 'network', message: /no byte for 0.2 s/ });
    server.manners.answer = () => ({ cut: true });
    await assert.rejects(open(path, { retries: 0 }), ({ message }) => /breaks off/.test(message) && !/CORS/.test(message));
    server.manners.answer = undefined;
});

test('a stop ends requests', async () => {
    const stop = new AbortController();
    const file = await open(large(LODS), { first: 512 });
    server.manners.answer = () => (stop.abort(), {});
    await assert.rejects(file.meshes({ level: 'high_lod', signal: stop.signal }), { name: 'AbortError' });
    server.manners.answer = undefined;
    assert.equal((await file.meshes({ level: 'high_lod' })).total, 1);
});

test('a file of 40 GB is read by ranges, beyond 4 GiB', { skip: !process.env.MESHMAP_SPARSE && 'MESHMAP_SPARSE names no file' }, async () => {
    // 4,000 snapshots, which are the same 12 again and again.
    const path = process.env.MESHMAP_SPARSE;
    const far = await serve({ '/': dirname(path) });
    const file = await open(`${far.origin}/${basename(path)}`);
    assert.equal(file.info.snapshots.count, 4000);
    const [first, early, late] = [await file.mesh('snapshots[0]'), await file.mesh('snapshots[3]'), await file.mesh('snapshots[3999]')];
    assert.deepEqual(late.attributes, early.attributes);
    assert.notDeepEqual(late.attributes, first.attributes);
    assert.ok(file.stats.bytes < 1e6, `${file.stats.bytes} bytes`);
    assert.equal(file.stats.length, 40e9);
    await far.close();
});

test('what is bad is an error with its place, and the next file is read', async () => {
    let errors = 0;
    for (const format of FORMATS) {
        for (const name of files(format, 'bad')) {
            try {
                const file = await open(readFileSync(join(data, format, 'bad', name)));
                await read(file);
            } catch (error) {
                assert.ok(error instanceof MeshmapError && error.kind !== 'crash' && error.message.length > 10, `${name}: ${error}`);
                errors += 1;
            }
        }
    }
    assert.ok(errors > 100, `${errors}`);
    const error = await open(Buffer.from('INTERQUAKEMODEL\0')).catch((error) => error);
    assert.deepEqual([error.kind, error.format, error.what, error.byteRange], ['truncated', 'iqm', 'iqmheader', [0, 124]]);
    assert.equal(await kindOf(open(new Uint8Array())), 'unknown_format');
    assert.equal((await open(readFileSync(join(data, SKINNED)))).format, 'iqm');
});

test('memory is bounded', async () => {
    const name = files('tmf', 'valid')[0];
    const file = await open(readFileSync(join(data, 'tmf/valid', name)), { maxTotalBytes: 4096, maxBlockBytes: 16 }).catch((error) => error);
    assert.equal(file instanceof MeshmapError ? file.kind : await kindOf(read(file)), 'limit_exceeded');
});

test('a mesh names its image, by a path below the folder of the file', async () => {
    const bytes = readFileSync(join(data, 'textures/crate.iqm'));
    const image = async (name) => {
        const changed = Buffer.from(bytes);
        changed.write(name.padEnd(9, '\0'), changed.indexOf('crate.png'), 'latin1');
        const file = await open(changed);
        return (await file.mesh('meshes[0]')).texture;
    };
    const expected = {
        'crate.png': 'crate.png', 'a/b.JPG': 'a/b.JPG', 'a\\b.webp': 'a/b.webp', '../b.png': 'b.png', 'C:\\b.png': 'b.png',
        '//h/b.png': 'b.png', 'b.pngMat': 'b.png', 'a/b.jpg_1': 'a/b.jpg', 'b.tgaMat': null, 'b.tga': null, 'crate': null, '..': null, 'a:b.png': null,
    };
    for (const [name, path] of Object.entries(expected)) assert.equal(await image(name), path, name);
    // Node shows no images: the mesh keeps its colour.
    const object = await new MeshmapLoader().loadAsync(`${server.origin}/data/textures/crate.iqm`);
    assert.equal(object.children.find((part) => part.isMesh).material.map, null);
    object.dispose();
});

test('the loader gives geometry with the positions of the library', async () => {
    for (const format of FORMATS) {
        for (const name of files(format, 'valid')) {
            const bytes = readFileSync(join(data, format, 'valid', name));
            const object = await new MeshmapLoader().parseAsync(bytes).catch((error) => error);
            if (!(object instanceof MeshmapObject)) {
                assert.ok(object instanceof MeshmapError, `${name}: ${object?.stack}`);
                continue;
            }
            const file = await open(bytes);
            const scene = await file.scene();
            for (const part of object.children) {
                if (!part.geometry) continue;
                const mesh = await file.shape(scene, scene.shapes.findIndex(({ address }) => address === part.userData.meshmap.address));
                const position = part.geometry.getAttribute('position');
                if (!position) continue;
                const { array, itemSize } = mesh.attributes.position;
                if (!(array instanceof Float32Array)) continue;
                for (let i = 0; i < position.count; i += 1) {
                    const found = [position.getX(i), position.getY(i), position.getZ(i)].slice(0, itemSize);
                    const at = found.map((value, axis) => (position.normalized ? value * part.scale.getComponent(axis) + part.position.getComponent(axis) : value));
                    for (const [axis, value] of at.entries()) {
                        const expected = array[i * itemSize + axis];
                        const near = position.normalized ? Math.abs(value - expected) <= 1e-6 * (Math.abs(part.scale.getComponent(axis)) + Math.abs(expected)) + 2 ** -149 : Object.is(value, expected);
                        assert.ok(near || Number.isNaN(expected), `${name} ${i}: ${value}, ${expected}`);
                    }
                }
            }
            object.dispose();
        }
    }
});

test('normalized integers of 32 bits are drawn as numbers up to 1', () => {
    const drawnOf = (array, type, normalized) => {
        const position = { array, itemSize: 3, type, normalized, dequant: null };
        const mesh = { name: '', address: 'meshes[0]', attributes: { position }, indices: new Uint16Array(), groups: new Uint32Array(), bounds: null };
        const [points] = drawn(objectOf(mesh, { rig: null, arePoints: true }));
        return points.map((point) => point.toArray());
    };
    const [wide, signed] = [Uint32Array.of(0, 2 ** 31, 2 ** 32 - 1), Int32Array.of(-(2 ** 31), 2 ** 30, 2 ** 31 - 1)];
    assert.deepEqual(drawnOf(wide, 'u32', true), [[0, 0.5, 1]]);
    assert.deepEqual(drawnOf(signed, 'i32', true), [[-1, 0.5, 1]]);
    assert.deepEqual(drawnOf(wide, 'u32', false), [[0, 2 ** 31, 2 ** 32]]);
});

test('a cloud with one triangle of equal corners is drawn as points', async () => {
    const [object] = (await new MeshmapLoader().parseAsync(readFileSync(join(data, 'openctm/valid/fakepointb_MG2.ctm')))).children;
    assert.ok(object.isPoints);
    assert.equal(object.geometry.attributes.position.count, 720);
    assert.equal(object.geometry.index, null);
});

test('colours are linear light, and as stored without the loader', async () => {
    const bytes = readFileSync(join(data, 'iqm/regressions/vertex_colors.iqm'));
    const [{ geometry }] = (await new MeshmapLoader().parseAsync(bytes)).children;
    const stored = (await (await open(bytes)).mesh('meshes[0]')).attributes.color;
    assert.deepEqual([stored.type, stored.normalized, ...stored.array.subarray(0, 4)], ['u8', true, 188, 60, 30, 255]);
    const { color } = geometry.attributes;
    for (let i = 0; i < color.count; i += 1) {
        const [red, green, blue, alpha] = Array.from(stored.array.subarray(4 * i, 4 * i + 4), (byte) => byte / 255);
        const expected = [...new Color().setRGB(red, green, blue, SRGBColorSpace).toArray(), alpha];
        const found = [color.getX(i), color.getY(i), color.getZ(i), color.getW(i)];
        assert.ok(found.every((channel, at) => Math.abs(channel - expected[at]) < 1e-6), `${found} ${expected}`);
    }
});

/** The vertices of an object at a time of a clip. */
function posed(object, clip, seconds) {
    const mixer = new AnimationMixer(object);
    const action = mixer.clipAction(clip).setLoop(LoopOnce);
    action.clampWhenFinished = true;
    action.play();
    mixer.setTime(seconds);
    const points = drawn(object).flat();
    mixer.stopAllAction();
    return points;
}

test('animations play right if poses have other parents than the joints', async () => {
    // Three cubes: the arm rotates about its joint at (2, 0, 0), and the hand, whose pose is a child of the root, moves along Z.
    const bytes = readFileSync(join(data, 'iqm/regressions/other_pose_parents.iqm'));
    const object = await new MeshmapLoader().setOptions({ yUp: false }).parseAsync(bytes);
    assert.deepEqual([object.errors, object.animations.map(({ name }) => name)], [[], ['wave']]);
    assert.deepEqual(object.scene.skeleton.joints.map(({ parent }) => parent), [null, 0, 1]);
    const rest = drawn(object).flat();
    const [{ rate, frameCount }] = object.scene.clips;
    const joint = new Vector3(2, 0, 0);
    for (let frame = 0; frame < frameCount; frame += 1) {
        const moved = posed(object, object.animations[0], frame / rate);
        rest.forEach((point, i) => {
            const expected = point.clone();
            if (point.x > 3) expected.z += frame;
            else if (point.x > 1) expected.sub(joint).applyAxisAngle(new Vector3(0, 0, 1), 0.3 * frame).add(joint);
            assert.ok(moved[i].distanceTo(expected) < 1e-5, `${frame} ${i}: ${moved[i].toArray()}, ${expected.toArray()}`);
        });
    }

    // A joint that is sheared has no transform that three.js could show.
    const sheared = await new MeshmapLoader().parseAsync(readFileSync(join(data, 'iqm/regressions/other_pose_parents_shear.iqm')));
    assert.equal(sheared.animations.length, 0);
    assert.deepEqual(sheared.errors.map(({ kind }) => kind), ['unsupported']);
    assert.match(sheared.errors[0].message, /^animation wave: poses\[\d\] has another parent than joints\[\d\]/);
    assert.ok(sheared.children.some(({ isSkinnedMesh }) => isSkinnedMesh));
});

test('animations with fewer poses than joints are left out, and the mesh is shown', async () => {
    const bytes = readFileSync(join(data, 'iqm/regressions/other_pose_parents.iqm'));
    // The last pose has one of the channels of each frame.
    const [poses, channels] = [bytes.readUInt32LE(76), bytes.readUInt32LE(96)];
    bytes.writeUInt32LE(poses - 1, 76);
    bytes.writeUInt32LE(channels - 1, 96);
    const object = await new MeshmapLoader().parseAsync(bytes);
    assert.deepEqual([object.animations.length, object.skeleton.bones.length], [0, poses]);
    assert.deepEqual(object.errors.map(({ kind }) => kind), ['unusable']);
    assert.match(object.errors[0].message, /2 poses, where the skeleton has 3 joints/);
    assert.ok(drawn(object).flat().length > 0);
});

test('a file with only animations has bones and clips', async () => {
    const only = (name) => {
        const bytes = readFileSync(join(data, 'iqm/regressions/other_pose_parents.iqm'));
        const [meshes, joints, anims] = [36, 68, 88];
        bytes.writeUInt32LE(0, meshes);
        if (name === 'poses') bytes.writeUInt32LE(0, joints);
        // The flags of the animation: it repeats.
        bytes.writeUInt32LE(1, bytes.readUInt32LE(anims) + 16);
        return bytes;
    };
    for (const name of ['joints and poses', 'poses']) {
        const object = await new MeshmapLoader().setOptions({ yUp: false }).parseAsync(only(name));
        assert.deepEqual([object.scene.shapes, object.errors, object.skeleton.bones.length, object.animations.length], [[], [], 3, 1], name);
        const places = (seconds) => {
            const mixer = new AnimationMixer(object);
            mixer.clipAction(object.animations[0]).play();
            mixer.setTime(seconds);
            object.updateMatrixWorld(true);
            return object.skeleton.bones.map((bone) => bone.getWorldPosition(new Vector3()).toArray().map((number) => Math.round(number * 1e4) / 1e4));
        };
        assert.deepEqual(places(0), [[0, 0, 0], [2, 0, 0], [4, 0, 0]], name);
        assert.deepEqual(places(2 / 24), [[0, 0, 0], [2, 0, 0], [4, 0, 2]], name);
        const [clip] = object.animations;
        assert.equal(clip.userData.meshmap.repeats, true);
        // The frame after the last one is the first.
        assert.ok(Math.abs(clip.duration - 4 / 24) < 1e-6);
        assert.deepEqual(object.clone().skeleton.bones.length, 3);
    }
});

test('materials have the colours that all programs show', async () => {
    const load = async (path) => (await new MeshmapLoader().parseAsync(readFileSync(join(data, path)))).children.filter((child) => child.geometry);
    const colors = (meshes) => meshes.flatMap(({ material }) => [material].flat().map(({ color }) => color.getHex(SRGBColorSpace).toString(16)));
    // By the names of materials, in the order of the file, and for shapes without one.
    assert.deepEqual(colors(await load('iqm/valid/ext_fte_skins.iqm')), ['c9c4bc', 'c9c4bc', '4f8fc9', 'e09a3e']);
    assert.deepEqual(colors(await load('tmf/valid/hand_two_a.tmf')), ['c9c4bc', '4f8fc9']);
    // Colours of vertices multiply white.
    assert.deepEqual(colors(await load('iqm/regressions/vertex_colors.iqm')), ['ffffff']);
});

test('colours with numbers outside of 0 to 1 are other data', async () => {
    const bytes = readFileSync(join(data, 'iqm/regressions/vertex_colors.iqm'));
    const at = Array.from({ length: bytes.readUInt32LE(44) }, (_, index) => bytes.readUInt32LE(52) + 20 * index).find((at) => bytes.readUInt32LE(at) === 6);
    // As signed bytes, the numbers from 128 on are negative.
    bytes.writeUInt32LE(0, at + 8);
    const [{ geometry, material }] = (await new MeshmapLoader().parseAsync(bytes)).children;
    assert.deepEqual([geometry.hasAttribute('color'), geometry.hasAttribute('_data_color'), material.vertexColors], [false, true, false]);
});

test('a CGeo file has the size that its unit gives', async () => {
    const bytes = readFileSync(join(data, 'cgeo/valid/anim_a.cgeo'));
    const size = async (options) => {
        const object = await new MeshmapLoader().setOptions(options).parseAsync(bytes);
        const box = new Box3().setFromPoints(drawn(object).flat());
        return [object.scene.metresPerUnit, box.getSize(new Vector3()).length()];
    };
    const [[unit, metres], [one, units], [, feet]] = [await size({}), await size({ metresPerUnit: 1 }), await size({ metresPerUnit: 0.3048 })];
    assert.deepEqual([unit, one], [0.01, 1]);
    assert.ok(units > 0 && Math.abs(metres / units - 0.01) < 1e-9 && Math.abs(feet / units - 0.3048) < 1e-9, `${metres} ${units} ${feet}`);
});

test('triangles run counter-clockwise around their normals', async () => {
    let turned = 0;
    for (const format of ['cgeo', 'slmesh', 'openctm']) {
        for (const name of files(format, 'valid').slice(0, 20)) {
            const bytes = readFileSync(join(data, format, 'valid', name));
            const load = (keepWinding) => new MeshmapLoader().setOptions({ keepWinding }).parseAsync(bytes).catch(() => null);
            const [kept, object] = [await load(true), await load(false)];
            const meshes = (from) => from.children.filter((child) => child.geometry);
            for (const [number, { geometry, scale }] of (object ? meshes(object) : []).entries()) {
                const { index } = geometry;
                const [position, normal] = [geometry.getAttribute('position'), geometry.getAttribute('normal')];
                if (!normal || !index) continue;
                const corner = (i) => scale.clone().fromBufferAttribute(position, index.getX(i)).multiply(scale);
                let votes = 0;
                for (let i = 0; i < index.count; i += 3) {
                    const a = corner(i);
                    const face = corner(i + 1).sub(a).cross(corner(i + 2).sub(a));
                    for (const number of [i, i + 1, i + 2]) {
                        // With a matrix, normals are made for its inverse.
                        const dot = face.dot(a.fromBufferAttribute(normal, index.getX(number)).divide(scale));
                        votes += Math.sign(dot) || 0;
                    }
                }
                assert.ok(votes >= 0, `${name}: ${votes}`);
                turned += meshes(kept)[number].geometry.index.getX(1) === index.getX(1) ? 0 : 1;
            }
        }
    }
    assert.ok(turned > 0);
});

test('the loader loads by address, with progress, skeleton and clips', async () => {
    globalThis.ProgressEvent ??= class extends Event {
        constructor(type, init) {
            super(type);
            Object.assign(this, init);
        }
    };
    const events = [];
    const object = await new MeshmapLoader().setOptions({ first: 512 }).setPath(`${server.origin}/data/`).loadAsync(SKINNED, (event) => events.push(event.loaded));
    assert.ok(events.length > 1 && events.at(-1) === object.stats.bytes);
    const skinned = object.children.filter((child) => child.isSkinnedMesh);
    assert.ok(skinned.length > 0);
    assert.ok(object.animations.length > 0 && object.animations.every((clip) => clip.tracks.length > 0));
    assert.ok(object.animations.some((clip) => clip.duration > 0));
    // In the bind pose, bones move nothing.
    object.updateMatrixWorld(true);
    const [mesh] = skinned;
    const position = mesh.geometry.getAttribute('position');
    const [x, y, z] = [position.getX(0), position.getY(0), position.getZ(0)];
    const moved = mesh.applyBoneTransform(0, mesh.position.clone().set(x, y, z));
    for (const [a, b] of [[moved.x, x], [moved.y, y], [moved.z, z]]) assert.ok(Math.abs(a - b) < 1e-4, `${a}, ${b}`);
    await assert.rejects(new MeshmapLoader().loadAsync(`${server.origin}/none`), { kind: 'response' });
});

test('a skin of Second Life becomes a skeleton, which leaves the mesh in its bind pose', async () => {
    const load = (name, options = {}) => new MeshmapLoader().setOptions(options).parseAsync(readFileSync(join(data, 'slmesh/valid', name)));
    const skinned = (object) => object.children.filter((child) => child.isSkinnedMesh);
    for (const name of ['odd_w05_four_no_terminator.slmesh', 'odd_s08_pelvis_array.slmesh', 'odd_w07_zero_influences.slmesh']) {
        const object = await load(name);
        object.updateMatrixWorld(true);
        const [mesh] = skinned(object);
        assert.deepEqual(object.skeleton.bones.map((bone) => bone.name), ['mPelvis', 'mTorso']);
        assert.equal(object.skeleton.bones[1].parent, object.skeleton.bones[0]);
        const { inverseBindMatrices, altInverseBindMatrices } = await (await open(readFileSync(join(data, 'slmesh/valid', name)))).skin();
        assert.equal(altInverseBindMatrices, null);
        object.skeleton.boneInverses.forEach((inverse, index) => assert.deepEqual(inverse.elements, [...inverseBindMatrices.subarray(16 * index, 16 * index + 16)]));
        const { position, skinWeight } = mesh.geometry.attributes;
        for (let i = 0; i < position.count; i += 1) {
            const expected = mesh.position.clone().fromBufferAttribute(position, i);
            const moved = mesh.applyBoneTransform(i, mesh.position.clone().fromBufferAttribute(position, i));
            assert.ok(moved.distanceTo(expected) < 1e-4, `${name} ${i}`);
            assert.ok(Math.abs(skinWeight.getX(i) + skinWeight.getY(i) + skinWeight.getZ(i) + skinWeight.getW(i) - 1) < 1e-4);
        }
        const [bone] = object.skeleton.bones;
        const before = mesh.applyBoneTransform(0, mesh.position.clone().fromBufferAttribute(position, 0));
        bone.position.z += 2;
        object.updateMatrixWorld(true);
        const after = mesh.applyBoneTransform(0, mesh.position.clone().fromBufferAttribute(position, 0));
        const moved = name === 'odd_w07_zero_influences.slmesh' ? 0 : 2;
        assert.ok(Math.abs(after.distanceTo(before) - moved) < 1e-4);
        object.dispose();
    }
    // A skin without matrices for all joints makes no skeleton, as in the viewer; without weights no mesh is skinned.
    const mismatch = 'the joints are left out: the skin has 2 joints and 1 matrices';
    for (const [name, joints, errors] of [['odd_s01_ibm_mismatch.slmesh', 0, [mismatch]], ['odd_w11_weights_no_skin.slmesh', 0, []], ['odd_w12_skin_no_weights.slmesh', 2, []]]) {
        const object = await load(name);
        const messages = object.errors.map(({ message }) => message);
        assert.deepEqual([skinned(object).length, object.skeleton?.bones.length ?? 0, messages], [0, joints, errors]);
    }
    const [bound, plain] = [await load('odd_w05_four_no_terminator.slmesh'), await load('odd_w05_four_no_terminator.slmesh', { skin: false })];
    assert.deepEqual([plain.skeleton, skinned(plain).length], [null, 0]);
    assert.ok(distance(drawn(plain), drawn(bound)) < 1e-5);
    const other = await open(readFileSync(join(data, SKINNED)));
    assert.deepEqual([other.info.blocks, await kindOf(other.skin())], [[], 'unsupported']);
});

test('vertices without weights rest in the bind pose', async () => {
    const pose = (object) => {
        const mixer = new AnimationMixer(object);
        mixer.clipAction(object.animations[0]).play();
        mixer.setTime(object.animations[0].duration / 2);
        return drawn(object).flat();
    };
    const whole = await new MeshmapLoader().parseAsync(readFileSync(join(data, SKINNED)));
    const bind = drawn(whole).flat();
    const moved = pose(whole);
    assert.ok(bind.every((point, i) => point.distanceTo(moved[i]) > 1e-3));
    for (const free of [1, 7, bind.length]) {
        const object = await new MeshmapLoader().parseAsync(withoutWeights(SKINNED, free));
        assert.ok(distance([drawn(object).flat()], [bind]) < 1e-5);
        assert.ok(distance([pose(object)], [[...bind.slice(0, free), ...moved.slice(free)]]) < 1e-5, `${free}`);
        assert.equal(object.skeleton.bones.length, whole.skeleton.bones.length);
        // Wherever the object is, and whatever it is in.
        object.position.x = 5;
        assert.ok(distance([drawn(object).flat()], [[...bind.slice(0, free), ...moved.slice(free)].map((point) => point.clone().setX(point.x + 5))]) < 1e-5);
        assert.deepEqual(object.children.filter(({ name }) => name === 'meshmap_rest').length, 1);
    }
    assert.ok(!whole.getObjectByName('meshmap_rest'));

    const bytes = readFileSync(join(data, 'slmesh/valid/odd_w07_zero_influences.slmesh'));
    const file = await open(bytes);
    const scene = await file.scene();
    const { array } = (await file.mesh(scene.shapes[0].address)).attributes.weights;
    // For drawing, all weights have the sum 1, and joints exist.
    const ready = await file.shape(scene, 0);
    const sums = Array.from({ length: ready.vertexCount }, (_, i) => ready.attributes.weights.array.subarray(4 * i, 4 * i + 4).reduce((a, b) => a + b));
    assert.ok(sums.every((sum) => Math.abs(sum - 1) < 1e-6) && ready.attributes.joints.array.every((number) => number <= scene.skeleton.joints.length));
    assert.ok(ready.resting > 0 && ready.attributes.joints.type === 'u16');
    const object = await new MeshmapLoader().parseAsync(bytes);
    const before = drawn(object)[0];
    object.skeleton.bones.forEach((bone) => bone.position.addScalar(3));
    const isFree = before.map((_, i) => array.subarray(4 * i, 4 * i + 4).every((weight) => weight === 0));
    assert.deepEqual(drawn(object)[0].map((point, i) => point.distanceTo(before[i]) < 1e-5), isFree);
    assert.ok(isFree.includes(true));
    // Another level of detail.
    await object.setLevel(0);
    assert.ok(distance([drawn(object)[0].filter((_, i) => isFree[i])], [before.filter((_, i) => isFree[i])]) < 1e-5);

    // The joint that rests comes after all others.
    const joint = { name: '', parent: null, rest: { translate: [0, 1, 0], rotate: [0, 0, 0, 1], scale: [1, 1, 1] } };
    const rig = rigOf({ joints: Array(256).fill(joint), inverseBind: new Float32Array() });
    const { skeleton } = skinnedMesh(new BufferGeometry(), [], rig, 1);
    assert.deepEqual(skeleton.boneInverses[256].elements, new Matrix4().elements);
});

test('clones of objects draw the same, and play independently', async () => {
    const load = (path) => new MeshmapLoader().loadAsync(`${server.origin}/data/${path}`);
    let count = 0;
    for (const clone of [(object) => object.clone(), cloneWithSkeletons]) {
        for (const format of FORMATS) {
            for (const name of files(format, 'valid')) {
                const object = await new MeshmapLoader().parseAsync(readFileSync(join(data, format, 'valid', name))).catch(() => null);
                if (!object) continue;
                const [shown, copy] = [drawn(object), clone(object)];
                assert.ok(copy instanceof MeshmapObject && copy.animations.length === object.animations.length, name);
                assert.deepEqual(drawn(copy), shown, name);
                count += 1;
            }
        }

        // Joints: a clone is elsewhere, in another pose, also with vertices that have no weights, and as a clone of a clone.
        for (const bytes of [readFileSync(join(data, SKINNED)), withoutWeights(SKINNED, 7)]) {
            const object = await new MeshmapLoader().parseAsync(bytes);
            const [shown, copy] = [drawn(object), clone(object).clone()];
            copy.position.x = 5;
            const mixer = new AnimationMixer(copy);
            mixer.clipAction(copy.animations[0]).play();
            mixer.setTime(copy.animations[0].duration / 2);
            const elsewhere = drawn(copy);
            assert.equal(distance(drawn(object), shown), 0);
            copy.position.x = 0;
            mixer.stopAllAction();
            assert.ok(distance(drawn(copy), shown) < 1e-5);
            const other = new AnimationMixer(object);
            other.clipAction(object.animations[0]).play();
            other.setTime(object.animations[0].duration / 2);
            object.position.x = 5;
            assert.ok(distance(drawn(object), elsewhere) < 1e-5);
            assert.ok(copy.skeleton.bones.every((bone, index) => copy.getObjectById(bone.id) && bone !== object.skeleton.bones[index]));
            copy.dispose();
        }

        // Snapshots.
        const proxy = await load('cgeo/valid/anim_a.cgeo');
        await proxy.setSnapshot(2);
        const [second, copy] = [drawn(proxy), clone(proxy)];
        assert.equal(copy.snapshot, 2);
        await copy.setSnapshot(4.5);
        assert.equal(distance(drawn(proxy), second), 0);
        const played = drawn(copy);
        assert.ok(distance(played, second) > 1e-3);
        await proxy.setSnapshot(4.5);
        assert.equal(distance(drawn(proxy), played), 0);
        copy.dispose();
        await proxy.setSnapshot(3);
        const last = clone(proxy);
        // The file belongs to the object that was loaded.
        proxy.dispose();
        await assert.rejects(last.setSnapshot(1), { kind: 'cancelled' });
        assert.equal(drawn(last).length, 1);

        // Levels of detail.
        const asset = await load(LODS);
        const [fine, coarse] = [drawn(asset), clone(asset)];
        assert.equal(coarse.level, asset.level);
        await coarse.setLevel('lowest_lod');
        assert.ok(drawn(coarse)[0].length < fine[0].length);
        assert.equal(distance(drawn(asset), fine), 0);
        const skinned = await load('slmesh/valid/odd_w07_zero_influences.slmesh');
        const [still, moving] = [drawn(skinned), clone(skinned)];
        moving.skeleton.bones.forEach((bone) => bone.position.addScalar(3));
        const [shown] = drawn(moving);
        await moving.setLevel(0);
        assert.equal(distance(drawn(moving), [shown]), 0);
        assert.equal(distance(drawn(skinned), still), 0);
    }
    assert.ok(count > 100, `${count}`);
    // Without its children, a clone shows nothing until it is asked for something.
    const empty = (await load('cgeo/valid/anim_a.cgeo')).clone(false);
    assert.deepEqual([empty.children.length, empty.snapshot], [0, null]);
    await empty.setSnapshot(1);
    assert.equal(empty.children.length, 1);
});

test('skinned meshes are drawn in their bind shape, with normals that are normal to the surface', async () => {
    const bytes = readFileSync(join(data, 'slmesh/regressions/bind_shape.slmesh'));
    const file = await open(bytes);
    const shape = new Matrix4().fromArray((await file.skin()).bindShapeMatrix);
    const linear = new Matrix3().setFromMatrix4(shape);
    const upright = linear.clone().invert().transpose();
    const stored = await file.mesh((await file.meshes({})).entries[0].address);
    const object = await new MeshmapLoader().parseAsync(bytes);
    object.updateMatrixWorld(true);
    const [mesh] = object.children.filter((child) => child.isSkinnedMesh);
    const { position, normal } = mesh.geometry.attributes;
    for (let i = 0; i < position.count; i += 1) {
        const at = (name) => new Vector3().fromArray(stored.attributes[name].array, i * 3);
        const size = at('position').applyMatrix4(shape).length();
        const found = mesh.applyBoneTransform(i, new Vector3().fromBufferAttribute(position, i));
        assert.ok(found.distanceTo(at('position').applyMatrix4(shape)) <= 1e-5 * size, `${i}`);
        // As in the shader of three.js, for bones that rest.
        assert.ok(new Vector3().fromBufferAttribute(normal, i).distanceTo(at('normal').applyMatrix3(upright).normalize()) < 1e-5, `${i}`);
    }
    assert.ok(!upright.equals(linear));
});

test('faces with weights rest in their bind shape if the joints cannot be used', async () => {
    const bytes = readFileSync(join(data, 'slmesh/regressions/bind_shape_without_matrices.slmesh'));
    const object = await new MeshmapLoader().parseAsync(bytes);
    assert.equal(object.skeleton, null);
    // The second face has no weights.
    const sizes = drawn(object.clone()).map((points) => new Box3().setFromPoints(points).getSize(new Vector3()).toArray());
    const expected = [[2, 4, 3], [1, 1, 1]];
    assert.ok(sizes.flat().every((size, axis) => Math.abs(size - expected.flat()[axis]) < 1e-4), `${sizes}`);
});

test('between two snapshots, positions and normals are between theirs', async () => {
    const path = `${server.origin}/data/cgeo/valid/anim_a.cgeo`;
    const proxy = await new MeshmapLoader().loadAsync(path);
    const { count, start, step } = proxy.file.info.snapshots;
    const arrays = () => ['position', 'normal'].map((name) => proxy.children[0].geometry.getAttribute(name)?.array.slice());
    const at = async (index) => (await proxy.setSnapshot(index), arrays());
    const whole = [await at(3), await at(4)];
    assert.notDeepEqual(whole[0], whole[1]);
    for (const share of [0.25, 0.5]) {
        const found = await at(3 + share);
        assert.equal(proxy.snapshot, 3 + share);
        found.forEach((array, number) => array?.forEach((value, i) => {
            const [a, b] = [whole[0][number][i], whole[1][number][i]];
            assert.equal(value, Math.fround(a + (b - a) * share));
        }));
        const { role } = proxy.children[0].userData.meshmap;
        assert.ok(Math.abs(role.seconds - (start + (3 + share) * step)) < 1e-6);
    }
    assert.deepEqual(await at(4), whole[1]);
    await proxy.setTime(start + 3.5 * step);
    assert.ok(Math.abs(proxy.snapshot - 3.5) < 1e-6);
    await assert.rejects(proxy.setSnapshot(count - 0.5), { kind: 'out_of_range' });

    // Playing at fractions fetches every snapshot once, and reads ahead as playing whole snapshots does.
    const requests = [];
    for (const share of [1, 0.25]) {
        const played = await new MeshmapLoader().loadAsync(path);
        for (let index = share; index <= 8; index += share) await played.setSnapshot(index);
        requests.push(played.stats.requests);
    }
    assert.ok(requests[1] <= requests[0] + 1, `${requests}`);

    const plain = await new MeshmapLoader().setOptions({ interpolate: false }).loadAsync(path);
    await plain.setTime(start + 3.4 * step);
    assert.equal(plain.snapshot, 3);
    await plain.setSnapshot(3.6);
    assert.equal(plain.snapshot, 4);
    assert.deepEqual(plain.children[0].geometry.getAttribute('position').array, whole[1][0]);

    // Triangles that differ change at a snapshot, not between two.
    const bytes = readFileSync(join(data, 'cgeo/valid/topology_a.cgeo'));
    const changing = await new MeshmapLoader().parseAsync(bytes);
    const file = await open(bytes);
    let changes = 0;
    for (let index = 0; index + 1 < file.info.snapshots.count; index += 1) {
        for (const share of [0, 0.5]) {
            await changing.setSnapshot(index + share);
            const [a, b] = [await file.mesh(`snapshots[${index}]`), await file.mesh(`snapshots[${index + 1}]`)];
            const found = changing.children[0].geometry;
            assert.equal(found.getAttribute('position').count, a.vertexCount);
            if (a.vertexCount === b.vertexCount) continue;
            changes += 1;
            assert.deepEqual(found.getAttribute('position').array, a.attributes.position.array);
        }
    }
    assert.ok(changes > 0);
});

test('playing reads ahead, in both directions and around the end, and shows the same', async () => {
    const path = large('cgeo/valid/anim_a.cgeo');
    const play = async (ahead, indices) => {
        const object = await new MeshmapLoader().setOptions({ ahead, first: 4096 }).loadAsync(path);
        server.manners.answer = () => ({ delay: 50 });
        const start = performance.now();
        const shown = [];
        for (const index of indices) {
            await object.setSnapshot(index);
            shown.push([object.snapshot, object.children[0].geometry.getAttribute('position').array.slice()]);
        }
        const time = performance.now() - start;
        delete server.manners.answer;
        const { requests } = object.stats;
        object.dispose();
        return { shown, time, requests };
    };
    const { count } = (await open(path)).info.snapshots;
    const forwards = Array.from({ length: count + 2 }, (_, index) => (index + 1) % count);
    const backwards = Array.from({ length: count - 1 }, (_, index) => count - 1 - index);
    for (const indices of [forwards, backwards, [5, 1, 2, 3, 9, 3, 3, 4, 5]]) {
        const [one, ahead] = [await play(0, indices), await play(6, indices)];
        assert.deepEqual(ahead.shown, one.shown);
        if (indices === forwards) assert.ok(ahead.time < 0.7 * one.time, `${ahead.time} of ${one.time} ms`);
    }
});

test('snapshots and levels of detail are changed', async () => {
    const proxy = await new MeshmapLoader().loadAsync(`${server.origin}/data/cgeo/valid/anim_a.cgeo`);
    const { count, start, step } = proxy.file.info.snapshots;
    assert.ok(count > 2);
    // Only the last of those that are asked for is shown.
    await Promise.all([proxy.setSnapshot(1), proxy.setSnapshot(2), proxy.setSnapshot(count - 1)]);
    assert.equal(proxy.snapshot, count - 1);
    const mesh = await proxy.file.mesh(`snapshots[${count - 1}]`, { byMaterial: true });
    assert.deepEqual(proxy.children[0].geometry.getAttribute('position').array, mesh.attributes.position.array);
    await proxy.setTime(start + step);
    assert.equal(proxy.snapshot, 1);
    await assert.rejects(proxy.setSnapshot(count), { kind: 'out_of_range' });
    assert.equal(proxy.snapshot, 1);
    proxy.dispose();
    await assert.rejects(proxy.file.meshes(), { kind: 'cancelled' });

    const asset = await new MeshmapLoader().setOptions({ level: 'lowest_lod' }).loadAsync(`${server.origin}/data/${LODS}`);
    const triangles = () => asset.children.reduce((sum, child) => sum + child.geometry.index.count / 3, 0);
    const [coarse] = [triangles(), await asset.setLevel(0)];
    assert.equal(asset.level, 'high_lod');
    assert.ok(triangles() > coarse);
    await assert.rejects(asset.setLevel('none'), { kind: 'out_of_range' });
    assert.equal(asset.level, 'high_lod');
});

// `build --page` makes only the module of all formats.
const modules = FORMATS.filter((format) => existsSync(new URL(`../pkg/wasm/${format}.wasm`, import.meta.url)));
test('a module of one format reads it, and no other', { skip: modules.length === 0 && 'no such module was built' }, async () => {
    // Threads have modules of their own; this one has that of all formats.
    const { Worker } = await import('node:worker_threads');
    const script = join(work, 'one.mjs');
    writeFileSync(script, `
        import { parentPort, workerData } from 'node:worker_threads';
        const { open } = await import(workerData.index);
        const kinds = [];
        for (const [bytes] of workerData.files) {
            kinds.push(await open(bytes, { wasm: workerData.wasm }).then((file) => file.format, (error) => error.kind));
        }
        parentPort.postMessage(kinds);
    `);
    for (const format of modules) {
        const other = format === 'iqm' ? 'tmf' : 'iqm';
        const files_ = [format, other].map((format) => [readFileSync(join(data, format, 'valid', files(format, 'valid')[0]))]);
        const workerData = {
            index: new URL('../pkg/index.js', import.meta.url).href,
            wasm: new URL(`../pkg/wasm/${format}.wasm`, import.meta.url).href,
            files: files_,
        };
        const kinds = await new Promise((resolve, reject) => {
            const worker = new Worker(script, { workerData });
            worker.on('message', resolve);
            worker.on('error', reject);
        });
        assert.equal(kinds[0], format);
        assert.notEqual(kinds[1], other);
        assert.notEqual(kinds[1], 'crash');
    }
});

test('the command of the package serves what was named, with its token, and to its own page', async () => {
    const folder = mkdtempSync(join(work, 'view-'));
    mkdirSync(join(folder, 'below'));
    copyFileSync(join(data, SKINNED), join(folder, 'below', 'a.iqm'));
    copyFileSync(join(data, 'textures', 'crate.png'), join(folder, 'below', 'a crate.png'));
    copyFileSync(join(data, 'textures', 'crate.png'), join(folder, 'above.png'));
    symlinkSync(join(folder, 'above.png'), join(folder, 'below', 'link.png'));
    writeFileSync(join(folder, 'notes.txt'), 'not a mesh');
    const child = spawn(process.execPath, [fileURLToPath(new URL('../pkg/view.js', import.meta.url)), '--no-open', folder], { stdio: ['ignore', 'pipe', 'ignore'] });
    after(() => child.kill());
    const [address] = await once(createInterface(child.stdout), 'line');
    const { host, pathname } = new URL(address);
    const get = (path, headers = {}, method = 'GET') => new Promise((resolve, reject) => {
        request({ host: '127.0.0.1', port: new URL(address).port, path, method, headers: { host, ...headers } }, (response) => {
            const parts = [];
            response.on('data', (part) => parts.push(part)).on('end', () => resolve([response.statusCode, Buffer.concat(parts)]));
        }).on('error', reject).end();
    });
    const [status, list] = await get(`${pathname}files.json`);
    assert.deepEqual([status, JSON.parse(list)], [200, { files: [{ name: 'below/a.iqm', url: 'file/0/mesh' }], addresses: false }]);
    const { headers } = await fetch(`${address}files.json`);
    assert.match(headers.get('content-security-policy'), /^connect-src 'self'; img-src 'self' data: blob:/);
    // All scripts that the worker loads.
    const scripts = ['worker.js'];
    for (const script of scripts) {
        const [status, body] = await get(`${pathname}meshmap/${script}`);
        assert.equal(status, 200, script);
        for (const [, name] of body.toString().matchAll(/^import .* from '\.\/(.*)';$/gm)) if (!scripts.includes(name)) scripts.push(name);
    }
    assert.ok(scripts.length > 4, `${scripts}`);
    const bytes = readFileSync(join(data, SKINNED));
    assert.deepEqual(await get(`${pathname}file/0/mesh`), [200, bytes]);
    assert.deepEqual(await get(`${pathname}file/0/mesh`, { range: 'bytes=16-31' }), [206, bytes.subarray(16, 32)]);
    assert.deepEqual(await get(`${pathname}file/0/mesh`, { range: 'bytes=-8' }), [206, bytes.subarray(-8)]);
    assert.deepEqual(await get(`${pathname}file/0/a%20crate.png`), [200, readFileSync(join(data, 'textures', 'crate.png'))]);
    const nothing = Buffer.alloc(0);
    for (const [path, headers, method, expected] of [
        [`${pathname}file/0/mesh`, { range: `bytes=${bytes.length}-` }, 'GET', 416],
        [`${pathname}file/1/mesh`, {}, 'GET', 404],
        ...['mesh/', '..%2Fabove.png', 'link.png', 'a.iqm', 'none.png', '%'].map((name) => [`${pathname}file/0/${name}`, {}, 'GET', 404]),
        [`${pathname}file/../notes.txt`, {}, 'GET', 404],
        [`${pathname}../../etc/passwd`, {}, 'GET', 404],
        [`${pathname}file/0/mesh`, {}, 'POST', 405],
        ['/', {}, 'GET', 403],
        ['/file/0/mesh', {}, 'GET', 403],
        [`/${'0'.repeat(32)}/file/0/mesh`, {}, 'GET', 403],
        [`${pathname}file/0/mesh`, { origin: 'http://example.org' }, 'GET', 403],
        [`${pathname}file/0/mesh`, { host: 'example.org' }, 'GET', 403],
    ]) assert.deepEqual(await get(path, headers, method), [expected, nothing], path);
    // A folder on the way, and the file, that have become links.
    renameSync(join(folder, 'below'), join(folder, 'moved'));
    symlinkSync(join(folder, 'moved'), join(folder, 'below'));
    assert.deepEqual(await get(`${pathname}file/0/mesh`), [404, nothing]);
    rmSync(join(folder, 'below'));
    mkdirSync(join(folder, 'below'));
    symlinkSync(join(folder, 'moved', 'a.iqm'), join(folder, 'below', 'a.iqm'));
    assert.deepEqual(await get(`${pathname}file/0/mesh`), [404, nothing]);
});
