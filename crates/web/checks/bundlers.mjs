// The package as npm packs it, in bundlers and without one: `node bundlers.mjs [NAME..]`. Prints the table of the README; exit status 1 if an
// outcome is another one.
//
// Installs the bundlers from npm. CHROMIUM names the browser.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import puppeteer from 'puppeteer-core';

import { serve } from '../serve.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'meshmap-bundlers-'));
const npm = (folder, ...words) => execFileSync('npm', [...words, '--silent', '--no-audit', '--no-fund'], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const npx = (folder, ...words) => execFileSync('npx', ['--no-install', ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
const packed = join(work, npm(work, 'pack', join(here, '../pkg')).trim().split('\n').at(-1));
const files = await serve({ '/data/': join(here, '../../../tests/data') });
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'], protocolTimeout: 60000 });

/** The program that is built. `before` is what a bundler needs in it. */
const main = (before = '') => `import { MeshmapLoader } from 'meshmap/three';
import { configure } from 'meshmap';
${before}
globalThis.outcome = new MeshmapLoader().loadAsync('${files.origin}/data/iqm/valid/skin_multi_anim.iqm').then((object) => object.file.format, String);
if (!globalThis.document) { console.log(await globalThis.outcome); process.exit(0); }
`;
const PAGE = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>';

/** A project that has installed the package and others. */
function project(name, packages, before) {
    const folder = join(work, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
    npm(folder, 'install', packed, 'three@0.187.0', ...packages);
    writeFileSync(join(folder, 'main.js'), main(before));
    writeFileSync(join(folder, 'index.html'), PAGE);
    return folder;
}

/** The outcome on a page, and the number of its workers. */
async function seen(address) {
    const page = await browser.newPage();
    let said = '';
    page.on('pageerror', (error) => (said = ` ${error}`));
    try {
        await page.goto(address);
        await page.waitForFunction(() => globalThis.outcome, { timeout: 30000 });
        const outcome = await page.evaluate(() => globalThis.outcome);
        return `${outcome}, ${page.workers().length === 0 ? 'no worker' : 'in a worker'}`;
    } catch (error) {
        return `${error}${said}`;
    } finally {
        await page.close();
    }
}

async function served(folder) {
    const server = await serve({ '/': folder });
    try {
        return await seen(`${server.origin}/index.html`);
    } finally {
        await server.close();
    }
}

/** The development server of Vite. The first visit may find dependencies, after which the page loads again. */
async function developed(folder) {
    const port = 20000 + (process.pid % 20000);
    const server = spawn('npx', ['--no-install', 'vite', '--port', `${port}`, '--strictPort', '--host', '127.0.0.1'], { cwd: folder, stdio: 'ignore', detached: true });
    try {
        const address = `http://127.0.0.1:${port}/`;
        for (let tries = 0; tries < 100 && !(await fetch(address).catch(() => null)); tries += 1) await sleep(100);
        await seen(address);
        await sleep(2000);
        return await seen(address);
    } finally {
        process.kill(-server.pid);
    }
}

const EXCLUDED = "export default { optimizeDeps: { exclude: ['meshmap'] } };\n";
const ADDRESSES = "import worker from 'meshmap/worker?worker&url';\nimport wasm from 'meshmap/wasm/all.wasm?url';\nconfigure({ worker, wasm });";
const vite = (version) => [
    [`Vite ${version}, build`, 'nothing', () => {
        const folder = project(`vite${version}-build`, [`vite@${version}`]);
        npx(folder, 'vite', 'build', '--target', 'es2022');
        return served(join(folder, 'dist'));
    }],
    [`Vite ${version}, dev`, "`optimizeDeps: { exclude: ['meshmap'] }`", () => {
        const folder = project(`vite${version}-dev`, [`vite@${version}`]);
        writeFileSync(join(folder, 'vite.config.js'), EXCLUDED);
        return developed(folder);
    }],
    [`Vite ${version}, build with addresses`, '`configure`', () => {
        const folder = project(`vite${version}-addresses`, [`vite@${version}`], ADDRESSES);
        writeFileSync(join(folder, 'vite.config.js'), "export default { worker: { format: 'es' } };\n");
        npx(folder, 'vite', 'build', '--target', 'es2022');
        return served(join(folder, 'dist'));
    }],
];
/** Names, the settings that each needs, and functions that try it. All have to read the file in a worker, except for Node, which has none. */
const CASES = [
    ...vite(6), ...vite(7), ...vite(8),
    ['webpack 5', 'nothing', () => {
        const folder = project('webpack', ['webpack@5', 'webpack-cli@6']);
        writeFileSync(join(folder, 'webpack.config.js'), "export default { mode: 'production', entry: './main.js' };\n");
        npx(folder, 'webpack');
        copyFileSync(join(folder, 'index.html'), join(folder, 'dist/index.html'));
        return served(join(folder, 'dist'));
    }],
    ['esbuild', '`configure`, and the worker as a second entry', () => {
        const folder = project('esbuild', ['esbuild'], "configure({ worker: 'worker.js', wasm: 'all.wasm' });");
        const options = ['--bundle', '--format=esm', '--target=es2022', '--outdir=dist', '--log-level=error'];
        npx(folder, 'esbuild', 'main.js', ...options);
        npx(folder, 'esbuild', 'node_modules/meshmap/worker.js', ...options);
        copyFileSync(join(folder, 'node_modules/meshmap/wasm/all.wasm'), join(folder, 'dist/all.wasm'));
        copyFileSync(join(folder, 'index.html'), join(folder, 'dist/index.html'));
        return served(join(folder, 'dist'));
    }],
    ['an import map, from another origin', 'CORS of the other origin', async () => {
        const folder = project('importmap', []);
        const other = await serve({ '/': join(folder, 'node_modules') });
        const imports = { meshmap: `${other.origin}/meshmap/index.js`, 'meshmap/three': `${other.origin}/meshmap/three.js`, three: `${other.origin}/three/build/three.module.js` };
        writeFileSync(join(folder, 'index.html'), PAGE.replace('<script', `<script type="importmap">${JSON.stringify({ imports })}</script><script`));
        try {
            return await served(folder);
        } finally {
            await other.close();
        }
    }],
    ['Node, without a browser', 'nothing', async () => {
        const folder = project('node', []);
        const { stdout } = await promisify(execFile)('node', ['main.js'], { cwd: folder });
        return `${stdout.trim()}, in a worker`;
    }],
];

const names = process.argv.slice(2);
const chosen = CASES.filter(([name]) => names.length === 0 || names.some((part) => name.includes(part)));
console.log('| | needs | |\n|---|---|---|');
let failed = false;
for (const [name, needs, run] of chosen) {
    const outcome = await Promise.resolve().then(run).catch((error) => `${error.stderr ?? ''}${error.stdout ?? ''}${error}`);
    const isRight = outcome === 'iqm, in a worker';
    failed ||= !isRight;
    console.log(`| ${name} | ${needs} | ${isRight ? 'works' : outcome.slice(0, 600)} |`);
}
await browser.close();
await files.close();
rmSync(work, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
