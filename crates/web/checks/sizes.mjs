// The sizes of the modules and scripts: `node sizes.mjs [--write]`. Exit status 1 if one is larger than its limit, or if the table of the
// README is not true; --write writes the table.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const pkg = join(here, '../pkg');
const readme = join(here, '../README.md');
/** Maximum sizes with gzip, in bytes: modules, and scripts, bundled and minified. */
const MODULES = { all: 302000, cgeo: 157000, iqm: 133500, openctm: 127500, slmesh: 142500, tmf: 131000 };
const SCRIPTS = { 'index.js': 9600, 'worker.js': 7500, 'three.js': 15000 };

/** A script and all that it imports, but not three.js. */
async function bundle(name) {
    const { outputFiles } = await build({
        entryPoints: [join(pkg, name)], bundle: true, minify: true, format: 'esm', target: 'es2022', external: ['three'], write: false,
    });
    return outputFiles[0].contents;
}

const files = [
    ...Object.entries(MODULES).map(([name, most]) => ({ name: `wasm/${name}.wasm`, most, bytes: readFileSync(join(pkg, `wasm/${name}.wasm`)) })),
    ...await Promise.all(Object.entries(SCRIPTS).map(async ([name, most]) => ({ name, most, bytes: Buffer.from(await bundle(name)) }))),
];
const number = new Intl.NumberFormat('en');
let failed = 0;
const rows = files.map(({ name, most, bytes }) => {
    const sizes = [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes).length];
    if (sizes[1] > most) {
        console.error(`${name} has ${sizes[1]} bytes with gzip: more than ${most}`);
        failed += 1;
    }
    return { name, sizes };
});
const table = rows.map(({ name, sizes }) => `| \`${name}\` | ${sizes.map((size) => number.format(size)).join(' | ')} |`).join('\n');
console.log(table);

const TABLE = /(\| file \| bytes \| gzip \| brotli \|\n\|---\|---\|---\|---\|\n)((?:\|.*\n)+)/;
const text = readFileSync(readme, 'utf8');
const [, , written] = TABLE.exec(text) ?? [];
if (process.argv.includes('--write')) {
    writeFileSync(readme, text.replace(TABLE, (_, head) => `${head}${table}\n`));
} else {
    const stated = (written ?? '').trim().split('\n').map((line) => line.split('|').slice(2, 5).map((cell) => Number(cell.replace(/,/g, ''))));
    const isTrue = stated.length === rows.length && rows.every(({ sizes }, row) => sizes.every((size, at) => Math.abs(size - stated[row][at]) <= 0.02 * size));
    if (!isTrue) {
        console.error('the sizes in crates/web/README.md differ by more than 2 %: node crates/web/checks/sizes.mjs --write');
        failed += 1;
    }
}
process.exit(failed ? 1 : 0);
