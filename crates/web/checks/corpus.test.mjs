// The files of a folder, as the module reads them by ranges and as the library does: values, numbers and messages.
//
// MESHMAP_CORPUS names the folder, MESHMAP_VALUES a program (`examples/values.rs`) that prints what the library reads.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { openAsBlob, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';

import { MeshmapError, open } from '../pkg/index.js';

const root = process.env.MESHMAP_CORPUS ?? fileURLToPath(new URL('../../../tests/data', import.meta.url));
const values = process.env.MESHMAP_VALUES;
const MOST = 200;

function* walk(folder) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) yield* walk(path);
        else if (!/\.(json|md|py)$/.test(entry.name)) yield path;
    }
}

/** A half as a number. */
function half(bits) {
    const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** The first four components of each element as floats. */
function floats({ array, type, itemSize, normalized }) {
    const components = Math.min(4, itemSize);
    const [, letter, bits] = /^([uif])(\d+)$/.exec(type);
    const greatest = letter === 'u' ? 2 ** bits - 1 : 2 ** (bits - 1) - 1;
    const number = (stored) => {
        if (type === 'f16') return half(stored);
        if (!normalized) return stored;
        return letter === 'u' ? stored / greatest : Math.max(stored / greatest, -1);
    };
    const count = array.length / itemSize;
    const out = new Float32Array(count * components);
    for (let i = 0; i < count; i += 1) {
        for (let j = 0; j < components; j += 1) out[i * components + j] = number(array[i * itemSize + j]);
    }
    // One NaN for all of them.
    const bytes = new Uint32Array(out.buffer);
    for (let i = 0; i < out.length; i += 1) if (Number.isNaN(out[i])) bytes[i] = 0x7fc00000;
    return out;
}

const checksum = (array) => crc32(new Uint8Array(array.buffer));

async function ours(path) {
    let file;
    const said = (error) => {
        if (!(error instanceof MeshmapError) || error.kind === 'crash') throw error;
        return { error: error.message };
    };
    try {
        file = await open(await openAsBlob(path));
    } catch (error) {
        return said(error);
    }
    const meshes = [];
    for (const level of file.info.levels.length ? file.info.levels.map(({ name }) => name) : ['']) {
        // A block that cannot be listed has its own error.
        const entries = await file.meshes({ level }).then(({ entries }) => entries, () => [{ address: level }]);
        for (const { address } of entries.slice(0, MOST - meshes.length)) {
            try {
                const mesh = await file.mesh(address);
                const arrays = Object.fromEntries(Object.entries(mesh.attributes).map(([name, attribute]) => [name, checksum(floats(attribute))]));
                const indices = checksum(Uint32Array.from(mesh.indices));
                meshes.push({ address, values: { vertices: mesh.vertexCount, triangles: mesh.triangleCount, arrays, indices } });
            } catch (error) {
                meshes.push({ address, ...said(error) });
            }
        }
    }
    const { format, findings } = file.info;
    file.close();
    return { format, findings: findings.length, meshes };
}

/**
 * Normals of OpenCTM's MG2, and directions of TMF, are made of sines, whose last digit is that of the host. Where they are
 * near, the expected ones take the place of the found ones.
 */
async function bringNear(path, found, expected) {
    if (!['openctm', 'tmf'].includes(found.format)) return 0;
    let count = 0;
    for (const [index, { address, values: ours }] of (found.meshes ?? []).entries()) {
        const theirs = expected.meshes?.[index]?.values;
        for (const name of ['normal', 'tangent']) {
            if (!ours || !theirs || ours.arrays[name] === theirs.arrays[name]) continue;
            const { stdout } = spawnSync(values, ['--array', path, address, name], { maxBuffer: 2 ** 30 });
            const wanted = new Float32Array(new Uint8Array(stdout).buffer);
            const file = await open(await openAsBlob(path));
            const { array } = (await file.mesh(address, { attributes: [name] })).attributes[name];
            file.close();
            assert.equal(array.length, wanted.length);
            for (let i = 0; i < array.length; i += 1) {
                const size = Math.max(1, ...wanted.subarray(i - (i % 3), i - (i % 3) + 3).map(Math.abs));
                assert.ok(Math.abs(array[i] - wanted[i]) <= size * 2 ** -20 || Object.is(array[i], wanted[i]), `${path} ${i}: ${array[i]}, ${wanted[i]}`);
            }
            ours.arrays[name] = theirs.arrays[name];
            count += 1;
        }
    }
    return count;
}

test('files have the values and messages of the library', { skip: !values && 'MESHMAP_VALUES names no program' }, async () => {
    const paths = [...walk(root)].sort();
    const { stdout, status } = spawnSync(values, [], { input: paths.join('\n'), maxBuffer: 2 ** 30 });
    assert.equal(status, 0);
    const lines = stdout.toString().trim().split('\n');
    assert.equal(lines.length, paths.length);
    const counts = { files: 0, meshes: 0, arrays: 0, errors: 0, bytes: 0, near: 0 };
    for (const [index, path] of paths.entries()) {
        const expected = JSON.parse(lines[index]);
        const found = await ours(path);
        counts.near += await bringNear(path, found, expected);
        assert.deepEqual(found, expected, relative(root, path));
        counts.files += 1;
        counts.bytes += statSync(path).size;
        counts.errors += (found.error ? 1 : 0) + (found.meshes ?? []).filter(({ error }) => error).length;
        for (const { values } of found.meshes ?? []) {
            counts.meshes += values ? 1 : 0;
            counts.arrays += Object.keys(values?.arrays ?? {}).length;
        }
    }
    assert.ok(counts.files > 300 && counts.meshes > 300 && counts.errors > 100, JSON.stringify(counts));
    console.log(`${counts.files} files of ${counts.bytes} bytes: ${counts.meshes} meshes, ${counts.arrays} arrays and ${counts.errors} errors are those of the library, but for the last digits of ${counts.near} arrays of directions`);
});
