#!/usr/bin/env node
// `meshmap FILE|FOLDER|URL...`, the command of the npm package: the page of the project in the browser of the user.
//
// The server listens on the loopback interface only, and each request needs the random token of the address. It ends with the last tab
// of the page, or with Ctrl-C. The command `meshmap view` does the same without Node, and can open addresses of stores.
import { spawn } from 'node:child_process';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { constants, existsSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { RemoteUrl } from './url.js';

const USAGE = `Opens mesh files in the browser

Usage: meshmap [OPTIONS] FILE|FOLDER|URL...

Folders are searched for .cgeo, .iqm, .ctm, .slmesh, .llmesh, .slm and .tmf. A URL needs a server that allows other origins (CORS).

Options:
      --no-open  Print the address of the page, and do not start a browser
  -h, --help     Print help
  -V, --version  Print version`;

const EXTENSIONS = new Set(['.cgeo', '.iqm', '.ctm', '.slmesh', '.llmesh', '.slm', '.tmf']);
const TYPES = {
    '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml', '.wasm': 'application/wasm',
};
const HEADERS = {
    'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin', 'X-Frame-Options': 'DENY',
};
/** Flags that open no link, and wait for no pipe. */
const REGULAR = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** Milliseconds between the last tab and the end of the server: reloading closes a tab and opens it again. */
const GRACE = 2000;

/** The files of the page, by address. The scripts and the module come from the package. */
const here = fileURLToPath(new URL('.', import.meta.url));
const PAGE = new Map([
    ...['index.html', 'style.css', 'icon.svg'].map((name) => [name, join(here, 'page', name)]),
    ['meshmap/page.js', join(here, 'page', 'page.js')],
    ...['core.js', 'error.js', 'module.js', 'source.js', 'url.js', 'worker.js', 'wasm/all.wasm'].map((name) => [`meshmap/${name}`, join(here, name)]),
]);

function report(message) {
    process.stderr.write(`meshmap: ${message}\n`);
}

/** The names and the paths or URLs of the files, in the order of the arguments; the files of a folder are sorted. */
function find(names) {
    const found = [];
    for (const name of names) {
        if (/^https?:\/\//.test(name)) {
            const url = new RemoteUrl(name);
            if (URL.canParse(name)) found.push({ name: url.name || String(url), url: name });
            else report(`${url}: not a URL`);
            continue;
        }
        let isFolder;
        try {
            isFolder = statSync(name).isDirectory();
        } catch (error) {
            report(`${name}: ${error.code === 'ENOENT' ? 'no such file' : error.message}`);
            continue;
        }
        if (!isFolder) {
            found.push({ name: basename(name), path: realpathSync(name) });
            continue;
        }
        const entries = readdirSync(name, { recursive: true, withFileTypes: true });
        const paths = entries.filter((entry) => entry.isFile() && EXTENSIONS.has(extname(entry.name).toLowerCase()))
            .map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
        found.push(...paths.map((path) => ({ name: relative(name, path).split(sep).join('/'), path })));
    }
    return found;
}

function isSame(a, b) {
    return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

/** The part of a file that a request asks for: `null` is the whole file, and `undefined` a range outside of it. */
function part(headers, length, tag) {
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? ['', '', ''];
    const isOther = headers['if-range'] !== undefined && headers['if-range'] !== tag;
    if (isOther || (first === '' && last === '') || (first !== '' && last !== '' && Number(last) < Number(first))) return null;
    const start = first === '' ? Math.max(0, length - Number(last)) : Number(first);
    const end = first === '' || last === '' ? length : Math.min(length, Number(last) + 1);
    return start < end ? { start, end } : undefined;
}

/** The path of an image below a folder; `null` for anything but a regular file with the first bytes of an image, and for links. */
async function image(folder, name) {
    try {
        const parts = name.split('/').map(decodeURIComponent);
        if (parts.some((part) => part === '' || part === '.' || part === '..' || /[\\/:\0]/.test(part))) return null;
        const path = join(folder, ...parts);
        const file = await openWithoutLinks(path);
        try {
            const { buffer, bytesRead } = await file.read(Buffer.alloc(12), 0, 12, 0);
            const isImage = /^(\x89PNG\r\n\x1a\n|\xff\xd8\xff|RIFF....WEBP|BM)/s.test(buffer.toString('latin1', 0, bytesRead));
            return isImage && (await file.stat()).isFile() ? path : null;
        } finally {
            await file.close();
        }
    } catch {
        return null;
    }
}

/**
 * Opens a file at a path without links; throws if it has some, also if another process puts one there meanwhile. Only Linux says which file was
 * opened; elsewhere a process that changes a folder between two calls, and back, is not noticed.
 */
async function openWithoutLinks(path) {
    const file = await open(path, REGULAR);
    try {
        if (process.platform === 'linux') {
            if (await readlink(`/proc/self/fd/${file.fd}`) !== path) throw new Error('a link');
        } else {
            const [opened, there] = [await file.stat({ bigint: true }), await stat(path, { bigint: true })];
            if (await realpath(path) !== path || opened.ino !== there.ino || opened.dev !== there.dev) throw new Error('a link');
        }
    } catch (error) {
        await file.close();
        throw error;
    }
    return file;
}

/** Sends a file or a part of it. */
async function send(request, response, path) {
    let file;
    try {
        file = await openWithoutLinks(path);
    } catch {
        response.writeHead(404).end();
        return;
    }
    try {
        const status = await file.stat({ bigint: true });
        if (!status.isFile()) {
            response.writeHead(404).end();
            return;
        }
        const { size, mtimeNs } = status;
        const length = Number(size);
        const tag = `"${size.toString(16)}-${mtimeNs.toString(16)}"`;
        const range = part(request.headers, length, tag);
        if (range === undefined) {
            response.writeHead(416, { 'Content-Range': `bytes */${length}` }).end();
            return;
        }
        const { start, end } = range ?? { start: 0, end: length };
        const line = range ? { 'Content-Range': `bytes ${start}-${end - 1}/${length}` } : {};
        response.writeHead(range ? 206 : 200, {
            'Accept-Ranges': 'bytes', ETag: tag, 'Content-Type': 'application/octet-stream', 'Content-Length': end - start, ...line,
        });
        if (request.method === 'HEAD' || start === end) response.end();
        else await pipeline(file.createReadStream({ start, end: end - 1, autoClose: false }), response);
    } catch {
        // The client has gone, or the file has become shorter: the client sees the latter by the length.
        response.destroy();
    } finally {
        await file.close();
    }
}

/** Starts the server; returns the address of the page and a promise of the end of its last tab. `isThere` is called with the page. */
async function serve(files, isThere) {
    const token = randomBytes(16).toString('hex');
    let tabs = 0;
    let closing;
    let host = '';
    // The page may fetch from other servers only if the user has named some.
    const addresses = files.some(({ url }) => url !== undefined);
    const list = JSON.stringify({ files: files.map(({ name, url }, index) => ({ name, url: url ?? `file/${index}/mesh` })), addresses });
    const policy = addresses ? {} : { 'Content-Security-Policy': "connect-src 'self'; img-src 'self' data: blob:" };
    let isOver;
    const over = new Promise((resolve) => isOver = resolve);

    const server = createServer({ headersTimeout: 3000, requestTimeout: 3000, connectionsCheckingInterval: 1000 }, async (request, response) => {
        for (const [name, value] of Object.entries({ ...HEADERS, ...policy })) response.setHeader(name, value);
        const status = (code) => response.writeHead(code).end();
        // Another site can lead here by its name, or send requests to this one.
        const { origin } = request.headers;
        if (request.headers.host !== host || (origin !== undefined && origin !== `http://${host}`)) return status(403);
        const [, given, path] = /^\/([^/?#]*)\/([^?#]*)/.exec(request.url) ?? ['', '', ''];
        if (!isSame(given, token)) return status(403);
        isThere();
        if (request.method !== 'GET' && request.method !== 'HEAD') return status(405);
        const page = PAGE.get(path || 'index.html');
        if (page) {
            response.setHeader('Content-Type', TYPES[extname(page)]);
            return response.end(request.method === 'HEAD' ? undefined : await readFile(page));
        }
        if (path === 'files.json') return response.setHeader('Content-Type', 'application/json').end(list);
        if (path === 'tab') {
            response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(':\n\n');
            tabs += 1;
            clearTimeout(closing);
            return response.on('close', () => {
                tabs -= 1;
                if (tabs === 0) closing = setTimeout(isOver, GRACE);
            });
        }
        const [, index, wanted] = /^file\/(\d{1,9})\/(.+)$/.exec(path) ?? [];
        const file = index === undefined ? undefined : files[Number(index)];
        if (file?.path === undefined) return status(404);
        const found = wanted === 'mesh' ? file.path : await image(dirname(file.path), wanted);
        return found === null ? status(404) : send(request, response, found);
    });
    server.maxConnections = 64;
    await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${server.address().port}`;
    const ended = over.then(() => server.close() && server.closeAllConnections());
    return { address: `http://${host}/${token}/`, ended };
}

/**
 * Makes a file that leads a browser to the page: only this user can read it, while all users of the machine see command lines. A
 * browser in a sandbox, such as Ubuntu's, sees neither temporary nor hidden files.
 */
function launchFile(address) {
    const folder = process.platform === 'linux' && existsSync(homedir()) ? homedir() : tmpdir();
    const path = join(folder, `meshmap-view-${randomBytes(8).toString('hex')}.html`);
    const page = '<!DOCTYPE html><meta charset=utf-8><title>meshmap</title>';
    writeFileSync(path, `${page}<meta http-equiv=refresh content="0; url=${address}">\n`, { flag: 'wx', mode: 0o600 });
    return path;
}

/** Opens a file in the user's browser. */
function start(path) {
    const [program, ...rest] = { win32: ['rundll32', 'url.dll,FileProtocolHandler'], darwin: ['open'] }[process.platform] ?? ['xdg-open'];
    const child = spawn(program, [...rest, path], { stdio: 'ignore', detached: true });
    child.on('error', (error) => report(`the browser cannot be started (${error.code}): open the address above`));
    child.unref();
}

async function main() {
    const options = { 'no-open': { type: 'boolean' }, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'V' } };
    let values, positionals;
    try {
        ({ values, positionals } = parseArgs({ options, allowPositionals: true }));
    } catch (error) {
        report(`${error.message}\n\n${USAGE}`);
        return 2;
    }
    if (values.help) return console.log(USAGE);
    if (values.version) return console.log(`meshmap ${JSON.parse(await readFile(join(here, 'package.json'), 'utf8')).version}`);
    if (positionals.length === 0) {
        report(`no file\n\n${USAGE}`);
        return 2;
    }
    const files = find(positionals);
    if (files.length === 0) {
        report('no mesh file');
        return 1;
    }
    let launch;
    const remove = () => launch && rmSync(launch, { force: true });
    const { address, ended } = await serve(files, remove);
    console.log(address);
    if (!values['no-open']) {
        launch = launchFile(address);
        process.on('exit', remove);
        for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
        start(launch);
    }
    report(`${files.length} file${files.length === 1 ? '' : 's'}; ends with the last tab of the page, or with Ctrl-C`);
    await ended;
}

process.exitCode = await main() ?? 0;
