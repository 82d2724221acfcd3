// A static server with ranges, tags and CORS: `node serve.mjs [PORT [FOLDER]]`, by default the demonstration.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const TYPES = {
    '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.json': 'application/json',
};

/**
 * Misbehaviours of a server, for tests.
 *
 * @typedef {object} Manners
 * @property {boolean} [ranges] Whether it has ranges; true.
 * @property {boolean} [exposes] Whether it shows other origins its headers; true.
 * @property {boolean} [cors] Whether other origins may read at all; true.
 * @property {(request: { url: string, range: string | undefined, count: number }) => Partial<{ tag: string, status: number, cut: boolean, delay: number, retryAfter: number, endless: boolean, silent: boolean }> | void} [answer]
 *     What is special about an answer; `delay` in milliseconds, `retryAfter` in seconds.
 */

/**
 * Serves folders: the longest prefix of the address that is a key.
 *
 * @param {Record<string, string>} folders
 * @param {number} [port] 0 takes one that is free.
 * @param {Manners} [manners]
 * @returns {Promise<{ origin: string, log: { url: string, range: string | undefined, status: number }[], manners: Manners, close: () => Promise<void> }>}
 */
export async function serve(folders, port = 0, manners = {}) {
    /** @type {{ url: string, range: string | undefined, status: number }[]} */
    const log = [];
    const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
    const server = createServer(async (request, response) => {
        const { ranges = true, exposes = true, cors = true, answer } = manners;
        const url = decodeURIComponent(new URL(request.url ?? '/', 'http://host').pathname);
        const range = request.headers.range;
        const entry = { url, range, status: 200 };
        log.push(entry);
        if (cors) response.setHeader('Access-Control-Allow-Origin', '*');
        if (cors && exposes) response.setHeader('Access-Control-Expose-Headers', 'Content-Range, ETag');
        if (request.method === 'OPTIONS') {
            response.setHeader('Access-Control-Allow-Headers', 'Range, If-Range');
            response.writeHead(204).end();
            return;
        }
        const end = (/** @type {number} */ status) => {
            entry.status = status;
            response.writeHead(status).end();
        };
        const prefix = prefixes.find((prefix) => url.startsWith(prefix));
        const rest = prefix === undefined ? null : normalize(url.slice(prefix.length) || '.');
        if (prefix === undefined || rest === null || rest.startsWith('..')) return end(404);
        let path = join(folders[prefix], rest);
        let stat;
        try {
            stat = statSync(path);
            if (stat.isDirectory()) stat = statSync(path = join(path, 'index.html'));
        } catch {
            return end(404);
        }
        const { size, mtime } = stat;
        const special = answer?.({ url, range, count: log.filter((other) => other.url === url).length }) ?? {};
        if (special.delay) await sleep(special.delay);
        if (special.retryAfter) response.setHeader('Retry-After', special.retryAfter);
        if (special.status) return end(special.status);
        const tag = special.tag ?? `"${size.toString(16)}-${mtime.getTime().toString(16)}"`;
        response.setHeader('Content-Type', TYPES[/** @type {keyof typeof TYPES} */ (extname(path))] ?? 'application/octet-stream');
        response.setHeader('ETag', tag);
        response.setHeader('Last-Modified', mtime.toUTCString());
        response.setHeader('Cache-Control', 'no-cache');
        if (request.headers['if-none-match'] === tag) return end(304);
        const parts = ranges ? /^bytes=(\d+)-(\d*)$/.exec(range ?? '') : null;
        if (ranges) response.setHeader('Accept-Ranges', 'bytes');
        const isOther = request.headers['if-range'] !== undefined && request.headers['if-range'] !== tag;
        let [first, last] = [0, size - 1];
        if (parts && !isOther) {
            first = Number(parts[1]);
            last = Math.min(parts[2] === '' ? size - 1 : Number(parts[2]), size - 1);
            if (first > last) {
                response.setHeader('Content-Range', `bytes */${size}`);
                return end(416);
            }
            entry.status = 206;
            response.setHeader('Content-Range', `bytes ${first}-${last}/${size}`);
        }
        if (special.endless || special.silent) {
            response.writeHead(entry.status);
            response.write(Buffer.alloc(16));
            const more = () => response.write(Buffer.alloc(1 << 16)) && setImmediate(more);
            if (special.endless) response.on('drain', more);
            return special.endless && more();
        }
        response.setHeader('Content-Length', Math.max(0, last - first + 1));
        response.writeHead(entry.status);
        if (request.method === 'HEAD' || size === 0) return response.end();
        const stream = createReadStream(path, { start: first, end: last });
        if (special.cut) {
            response.write('cut');
            setTimeout(() => response.destroy(), 20);
            return;
        }
        stream.on('error', () => response.destroy());
        stream.pipe(response);
    });
    await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
    const address = /** @type {import('node:net').AddressInfo} */ (server.address());
    const close = () => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve(undefined));
    });
    return { origin: `http://127.0.0.1:${address.port}`, log, manners, close: /** @type {() => Promise<void>} */ (close) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [port = '8080', folder = fileURLToPath(new URL(`site${sep}dist`, import.meta.url))] = process.argv.slice(2);
    const { origin } = await serve({ '/': folder }, Number(port));
    console.log(`${origin}/`);
}
