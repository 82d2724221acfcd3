// Requests and bytes until the first picture of each file, over a server with latency; the numbers of the README.
//
//     node checks/requests.mjs [--latency MS] [--whole BYTES] [--no-prefetch] [FOLDER..]
//
// The folders have files of any of the formats; by default the valid files of the repository and of MESHMAP_CORPUS. Fails if a file
// takes more requests than its format may.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { MeshmapError } from '../pkg/index.js';
import { MeshmapObject } from '../pkg/three.js';
import { serve } from '../serve.mjs';

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { latency: { type: 'string', default: '50' }, whole: { type: 'string' }, 'no-prefetch': { type: 'boolean' } },
});
/** The most requests until the first picture. */
const MOST = { cgeo: 4, iqm: 2, openctm: 3, slmesh: 2, tmf: 2 };
/** Bytes in a second of a connection of 20 Mbit/s, which the local server does not have. */
const BANDWIDTH = 2.5e6;

const data = fileURLToPath(new URL('../../../tests/data', import.meta.url));
const folders = positionals.length > 0 ? positionals : [data, process.env.MESHMAP_CORPUS].filter((folder) => folder !== undefined);
const isMesh = (name) => /\.(cgeo|iqm|ctm|slmesh|tmf)$/.test(name);
const found = folders.flatMap((folder) => readdirSync(folder, { recursive: true })
    .filter((name) => isMesh(name) && (positionals.length > 0 || /(^|\/)valid\//.test(name)))
    .map((name) => ({ folder, name, length: statSync(join(folder, name)).size })));

const server = await serve(Object.fromEntries(folders.map((folder, number) => [`/${number}/`, folder])));
server.manners.answer = () => ({ delay: Number(values.latency) });
const options = { prefetch: !values['no-prefetch'], ...(values.whole && { whole: Number(values.whole) }), textures: false };
const rows = [];
let left = 0;
for (const { folder, name, length } of found) {
    const begin = performance.now();
    try {
        const object = await MeshmapObject.open(`${server.origin}/${folders.indexOf(folder)}/${encodeURI(name)}`, options);
        const { requests, bytes } = object.stats;
        const seconds = (performance.now() - begin) / 1000;
        rows.push({ name, format: object.file.format, length, requests, bytes, seconds, estimate: seconds + bytes / BANDWIDTH });
        object.dispose();
    } catch (error) {
        if (!(error instanceof MeshmapError)) throw error;
        left += 1;
    }
}
await server.close();

const show = ({ format, name, length, requests, bytes, seconds, estimate }) => {
    console.log(`| ${format} | ${name} | ${length} | ${requests} | ${bytes} | ${seconds.toFixed(2)} s | ${estimate.toFixed(2)} s |`);
};
console.log('| format | file | length | requests | bytes | time | at 20 Mbit/s |\n|---|---|--:|--:|--:|--:|--:|');
[...rows].sort((a, b) => b.requests - a.requests || b.bytes - a.bytes).slice(0, 10).forEach(show);
console.log();
let failed = false;
for (const [format, most] of Object.entries(MOST)) {
    const own = rows.filter((row) => row.format === format);
    if (own.length === 0) continue;
    const greatest = Math.max(...own.map(({ requests }) => requests));
    const twice = own.filter(({ bytes, length }) => bytes > length);
    const sum = own.reduce((sum, { estimate }) => sum + estimate, 0);
    console.log(`${format}: ${own.length} files, at most ${greatest} requests, ${twice.length} with bytes that came twice, ${sum.toFixed(1)} s at 20 Mbit/s`);
    failed ||= greatest > most || twice.length > 0;
}
console.log(`${left} files have nothing to show or cannot be read`);
process.exit(failed && !values['no-prefetch'] ? 1 : 0);
