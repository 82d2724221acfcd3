// Servers that lie, read by Node and by a page of another origin in Chromium: `node servers.mjs`. Prints a table of the outcomes; exit
// status 1 if one is wrong.
//
// CHROMIUM names the browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import puppeteer from 'puppeteer-core';

import { open } from '../pkg/index.js';
import { serve } from '../serve.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const body = readFileSync(join(here, '../../../tests/data/iqm/valid/ext_fte_skins.iqm'));
// Detection asks for 4,096 bytes at least, and the header leads to others.
const OPTIONS = { first: 4096, gap: 0, timeout: 0.5, maxWhole: 1 << 20 };
const TAG = '"one"';
const MODIFIED = 'Wed, 01 Jul 2026 10:00:00 GMT';

/** The answer of a good server; `headers` and `bytes` replace parts of it. */
function right({ response, start, end }, { status = 206, headers = {}, bytes = body.subarray(start, end) } = {}) {
    const range = status === 206 ? { 'Content-Range': `bytes ${start}-${end - 1}/${body.length}` } : {};
    const all = { ETag: TAG, 'Last-Modified': MODIFIED, 'Content-Length': bytes.length, ...range, ...headers };
    for (const [name, value] of Object.entries(all)) if (value !== null) response.setHeader(name, value);
    response.writeHead(status).end(bytes);
}

/** Bytes for ever, as fast as they are taken. */
function endless({ response }, status, headers) {
    response.writeHead(status, headers);
    const more = () => !response.destroyed && response.write(Buffer.alloc(1 << 16)) && setImmediate(more);
    response.on('drain', more);
    more();
}

const failing = (status, headers) => ({ response }) => response.writeHead(status, headers).end();
const first = (count, bad) => (request) => (request.count <= count ? bad(request) : right(request));
const later = (headers) => (request) => right(request, request.count > 1 ? { headers } : {});

const REFUSED = ['network', /a request without a range is answered: the server may compress the file/];
/**
 * The behaviour of a server, and the outcome: `true` if the file is read, else the kind of the error and its message. The last element is the
 * outcome in browsers if it differs: they refuse compressed responses to requests for ranges.
 */
const SERVERS = [
    ['503 twice, then answers', first(2, failing(503)), true],
    ['503 always', failing(503), ['network', /answers 503/]],
    ['429 twice with Retry-After: 1, then answers', first(2, failing(429, { 'Retry-After': '1' })), true],
    ['429 always', failing(429), ['network', /answers 429/]],
    ['404', failing(404), ['response', /answers 404/]],
    ['204 without a body', failing(204), ['response', /answers 204/]],
    ['cuts two responses off, then answers', first(2, ({ response }) => {
        response.writeHead(206, { 'Content-Length': 1024 }).write('cut');
        setTimeout(() => response.destroy(), 20);
    }), true],
    ['never answers', () => {}, ['network', /no byte for 0.5 s/]],
    ['answers, then falls silent', ({ response }) => response.writeHead(206).write('some'), ['network', /no byte for 0.5 s/]],
    ['endless 206', (request) => endless(request, 206, {}), ['response', /more than the 4096 bytes of the range/]],
    ['endless 200', (request) => endless(request, 200, {}), ['response', /more than the 1048576 bytes/]],
    ['no ranges: the whole file', (request) => right({ ...request, start: 0, end: body.length }, { status: 200 }), true],
    ['no ranges, and gzip', (request) => right(request, { status: 200, bytes: gzipSync(body), headers: { 'Content-Encoding': 'gzip' } }), true, REFUSED],
    ['ranges of a gzip stream', (request) => {
        const stream = gzipSync(body);
        right(request, { bytes: stream.subarray(request.start, request.end), headers: { 'Content-Encoding': 'gzip' } });
    }, ['response', /compressed by the server/], REFUSED],
    ['another range than the one asked for', (request) => right({ ...request, start: request.start + 8, end: request.end + 8 }), ['response', /asked for bytes/]],
    ['fewer bytes than Content-Range says', (request) => right(request, { bytes: body.subarray(request.start, request.end - 8) }), ['response', /4088 bytes/]],
    ['more bytes than the range', (request) => right(request, { bytes: body.subarray(request.start, request.end + 8) }), ['response', /more than the 4096 bytes/]],
    ['another tag later', later({ ETag: '"two"' }), ['changed', /its tag was/]],
    ['another time later, without tags', (request) => right(request, {
        headers: { ETag: null, 'Last-Modified': request.count > 1 ? 'Wed, 01 Jul 2026 11:00:00 GMT' : MODIFIED },
    }), ['changed', /its time was/]],
    ['a page for signing in, with 200', ({ response }) => response.writeHead(200).end('<!doctype html><title>Sign in</title>'), ['unknown_format', /starts with/]],
];

let answer = SERVERS[0][1];
let count = 0;
const server = createServer((request, response) => {
    count += 1;
    response.setHeader('Connection', 'close');
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Expose-Headers', 'Content-Range, ETag, Content-Encoding, Retry-After');
    const [, start, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    answer({ response, count, start: Number(start), end: Math.min(Number(last) + 1, body.length) });
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}/skin.iqm`;

/** Reads a file; returns its positions, or the error. It also runs in the browser. */
async function read(open, source, options) {
    const start = performance.now();
    const stats = ({ requests, bytes }) => ({ requests, bytes, seconds: (performance.now() - start) / 1000 });
    try {
        const file = await open(source, options);
        const { entries } = await file.meshes();
        const positions = [];
        for (const { address } of entries) positions.push([...(await file.mesh(address)).attributes.position.array]);
        file.close();
        return { positions, ...stats(file.stats) };
    } catch (error) {
        return { kind: error.kind ?? String(error), message: error.message, ...stats(error.stats ?? { requests: NaN, bytes: NaN }) };
    }
}

const pages = await serve({ '/pkg/': join(here, '../pkg'), '/': join(here, '../site') });
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage();
await page.goto(`${pages.origin}/icon.svg`);
const inNode = () => read(open, url, OPTIONS);
const inChromium = () => page.evaluate(`import('/pkg/index.js').then(({ open }) => (${read})(open, ${JSON.stringify(url)}, ${JSON.stringify(OPTIONS)}))`);

const expected = (await read(open, body, {})).positions;
const rows = [];
let failed = 0;
for (const [name, behaviour, inAll, inBrowsers = inAll] of SERVERS) {
    const cells = [];
    for (const [run, outcome] of [[inNode, inAll], [inChromium, inBrowsers]]) {
        [answer, count] = [behaviour, 0];
        const { positions, kind, message, requests, bytes, seconds } = await run();
        try {
            if (outcome === true) assert.deepEqual(positions, expected, message);
            else assert.deepEqual([kind, outcome[1].test(message ?? '')], [outcome[0], true], message);
            assert.equal(requests, count, 'the number of requests');
            assert.ok(!/CORS/.test(message ?? ''), message);
            // Bodies are read no further than their limit, and what is on the way.
            assert.ok(bytes < OPTIONS.maxWhole + (4 << 20) && seconds < 10, `${bytes} bytes in ${seconds} s`);
            cells.push(`${positions ? 'read' : kind}, ${requests} requests, ${bytes} bytes, ${seconds.toFixed(1)} s`);
        } catch (error) {
            failed += 1;
            cells.push(`FAILED: ${error.message.split('\n')[0]}`);
        }
    }
    rows.push([name, ...cells]);
}

// Nothing answers at all: of these, browsers report one error for all causes.
for (const [source, hint] of [['http://127.0.0.1:9/a.iqm', /CORS/], ['ftp://127.0.0.1/a.iqm', /URLs with ftp: may not be supported/]]) {
    const found = await page.evaluate(`import('/pkg/index.js').then(({ open }) => (${read})(open, ${JSON.stringify(source)}, {}))`);
    const isRight = found.kind === 'network' && hint.test(found.message);
    failed += isRight ? 0 : 1;
    rows.push([source, '', isRight ? `${found.kind}, ${found.requests} requests` : `FAILED: ${JSON.stringify(found)}`]);
}

await browser.close();
await pages.close();
server.closeAllConnections();
server.close();
const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column].length)));
for (const row of [['the server', 'Node', 'Chromium, another origin'], ...rows]) {
    console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd());
}
console.log(failed ? `${failed} outcomes are wrong` : `all outcomes of ${rows.length} servers are right`);
process.exit(failed ? 1 : 0);
