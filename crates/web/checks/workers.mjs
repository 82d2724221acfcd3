// Workers, addresses and aborts in Chromium, on a page without a bundler: `node workers.mjs`. Exit status 1 if a check fails.
//
// CHROMIUM names the browser. MESHMAP_CORPUS names the folder of the larger corpus, whose largest file is read next to a small one.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

import { serve } from '../serve.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const corpus = process.env.MESHMAP_CORPUS;
const SMALL = '/data/iqm/valid/skin_multi_anim.iqm';
const LARGE = corpus ? '/corpus/openctm/large/irr1M_MG1.ctm' : '/data/openctm/valid/cyl_RAW_pn.ctm';

const pages = mkdtempSync(join(tmpdir(), 'meshmap-workers-'));
const folders = { '/pkg/': join(here, '../pkg'), '/three/': join(here, '../node_modules/three'), '/data/': join(here, '../../../tests/data'), '/pages/': pages };
if (corpus) folders['/corpus/'] = corpus;
const own = await serve(folders);
const other = await serve(folders);
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--js-flags=--expose-gc'], protocolTimeout: 600000 });

/** Runs a script on a page that imports the package from an origin, and returns what it returns. */
async function run(name, { from = own.origin, policy, script }) {
    const imports = { meshmap: `${from}/pkg/index.js`, 'meshmap/three': `${from}/pkg/three.js`, three: `${from}/three/build/three.module.js` };
    const meta = policy ? `<meta http-equiv="Content-Security-Policy" content="${policy}">` : '';
    writeFileSync(join(pages, `${name}.html`), `<!doctype html>${meta}<script type="importmap">${JSON.stringify({ imports })}</script>`);
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(`${own.origin}/pages/${name}.html`);
    const result = await page.evaluate(typeof script === 'string' ? eval(script) : script, { small: SMALL, large: LARGE, other: other.origin });
    const workers = page.workers().length;
    await page.close();
    assert.deepEqual(errors, [], name);
    return { ...result, workers };
}

let failed = false;
async function check(name, run) {
    try {
        console.log(`${name}: ${(await run()) ?? 'ok'}`);
    } catch (error) {
        failed = true;
        console.log(`${name}: FAILED: ${error.stack ?? error}`);
    }
}

await check('a small file next to a large one', async () => {
    const { alone, behind, workers } = await run('pool', {
        script: async ({ small, large }) => {
            const { open } = await import('meshmap');
            const { MeshmapObject } = await import('meshmap/three');
            const time = async () => {
                const begin = performance.now();
                await (await open(`${small}?${begin}`)).scene();
                return performance.now() - begin;
            };
            (await open(small)).close();
            const alone = await time();
            let isDone = false;
            const reading = MeshmapObject.open(large).then(() => (isDone = true));
            await new Promise((done) => setTimeout(done, 1000));
            const behind = [];
            for (let i = 0; i < 3 && !isDone; i += 1) behind.push(await time());
            await reading;
            return { alone, behind };
        },
    });
    if (corpus) assert.ok(behind.length > 0 && Math.max(...behind) < 1000, `${behind}`);
    assert.ok(workers >= 2, `${workers}`);
    return `${alone.toFixed(0)} ms alone, ${behind.map((time) => time.toFixed(0)).join(', ')} ms next to it, ${workers} workers`;
});

await check('one worker, if one is allowed', async () => {
    const { workers } = await run('limit', {
        script: async ({ small }) => {
            const { open, setWorkerLimit } = await import('meshmap');
            const files = await Promise.all([0, 1, 2].map((number) => open(`${small}?${number}`)));
            setWorkerLimit(1);
            files.forEach((file) => file.close());
            await (await open(small)).scene();
            return {};
        },
    });
    assert.equal(workers, 1);
});

await check('the package from another origin', async () => {
    const { format, workers } = await run('other', {
        from: other.origin,
        script: async ({ small }) => ({ format: (await (await import('meshmap')).open(small)).format }),
    });
    assert.deepEqual([format, workers], ['iqm', 1]);
});

await check('a page that allows no workers', async () => {
    for (const from of [own.origin, other.origin]) {
        const { format, workers } = await run('none', {
            from,
            policy: "worker-src 'none'",
            script: async ({ small }) => ({ format: (await (await import('meshmap')).open(small)).format }),
        });
        assert.deepEqual([format, workers], ['iqm', 0]);
    }
});

await check('addresses of worker and module', async () => {
    const { format, workers } = await run('addresses', {
        script: async ({ small, other }) => {
            const { configure, open } = await import('meshmap');
            configure({ worker: `${other}/pkg/worker.js`, wasm: '/pkg/wasm/all.wasm' });
            return { format: (await open(small)).format };
        },
    });
    assert.deepEqual([format, workers], ['iqm', 1]);
});

await check('addresses that lead nowhere', async () => {
    const { format, kind } = await run('nowhere', {
        script: async ({ small }) => {
            const { configure, open } = await import('meshmap');
            configure({ worker: '/nowhere.js' });
            const { format } = await open(small);
            // The thread of the page needs the address of the module as well.
            configure({ wasm: '/pkg/wasm/all.wasm' });
            await (await open(small)).scene();
            configure({ worker: '/pkg/worker.js', wasm: '/pages/nowhere.html' });
            const kind = await open(small).then(() => 'read', (error) => error.kind);
            return { format, kind };
        },
    });
    assert.deepEqual([format, kind], ['iqm', 'network']);
});

await check('an own worker', async () => {
    const { formats, workers } = await run('own', {
        script: async ({ small }) => {
            const { open } = await import('meshmap');
            const worker = new Worker('/pkg/worker.js', { type: 'module' });
            const files = await Promise.all([0, 1].map((number) => open(`${small}?${number}`, { worker })));
            return { formats: files.map(({ format }) => format) };
        },
    });
    assert.deepEqual([formats, workers], [['iqm', 'iqm'], 1]);
});

await check('aborts by the loader, the manager and a signal', async () => {
    own.manners.answer = () => ({ delay: 300 });
    for (const worker of [true, false]) {
        const { names } = await run('abort', {
            script: `async ({ small }) => {
                const { LoadingManager } = await import('three');
                const { MeshmapLoader } = await import('meshmap/three');
                const begin = [
                    (loader) => loader.abort(),
                    (loader, manager) => manager.abort(),
                    (loader, manager, controller) => controller.abort(),
                ];
                const names = [];
                for (const abort of begin) {
                    const [manager, controller] = [new LoadingManager(), new AbortController()];
                    const loader = new MeshmapLoader(manager).setOptions({ worker: ${worker}, signal: controller.signal });
                    const loading = loader.loadAsync(small + '?' + names.length).then(() => 'loaded in spite of it', (error) => error.name);
                    setTimeout(() => abort(loader, manager, controller), 100);
                    names.push(await loading);
                }
                // Files that are loaded later are not aborted.
                const loader = new MeshmapLoader();
                loader.abort();
                names.push((await loader.setOptions({ worker: ${worker} }).loadAsync(small)).file.format);
                return { names };
            }`.replace(/^async/, '(async').concat(')'),
        });
        assert.deepEqual(names, ['AbortError', 'AbortError', 'AbortError', 'iqm'], `worker: ${worker}`);
    }
    own.manners.answer = undefined;
});

/** The resident memory of the processes of the browser that run pages, in MiB. */
function memory() {
    const statuses = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => {
        try {
            return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer') ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
        } catch {
            return '';
        }
    });
    const sizes = statuses.map((status) => Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0));
    return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1024);
}

await check('memory over 100 loads and 100 aborts', async () => {
    const file = corpus ? '/corpus/slmesh/large/11_large_skinned_8x20k.slmesh' : '/data/slmesh/valid/nodemv_02_static_4lod.slmesh';
    const imports = { meshmap: '/pkg/index.js', 'meshmap/three': '/pkg/three.js', three: '/three/build/three.module.js' };
    writeFileSync(join(pages, 'memory.html'), `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`);
    const page = await browser.newPage();
    await page.goto(`${own.origin}/pages/memory.html`);
    const rounds = (count, abort) => page.evaluate(async (file, count, abort) => {
        const { MeshmapLoader } = await import('meshmap/three');
        let aborted = 0;
        for (let i = 0; i < count; i += 1) {
            const loader = new MeshmapLoader();
            const loading = loader.loadAsync(file).then((object) => object.dispose(), (error) => (aborted += error.name === 'AbortError' ? 1 : 0));
            if (abort) setTimeout(() => loader.abort(), i % 30);
            await loading;
        }
        globalThis.gc();
        await new Promise((done) => setTimeout(done, 500));
        return aborted;
    }, file, count, abort);
    await rounds(10, false);
    const seen = [memory()];
    for (let i = 0; i < 3; i += 1) {
        await rounds(30, false);
        seen.push(memory());
    }
    own.manners.answer = () => ({ delay: 30 });
    const aborted = await rounds(100, true);
    own.manners.answer = undefined;
    seen.push(memory());
    await page.close();
    assert.ok(aborted > 50, `${aborted} aborts`);
    assert.ok(Math.max(...seen) < 1.5 * seen[0] + 50, `${seen} MiB`);
    return `${seen.join(', ')} MiB after 10, 40, 70 and 100 loads and ${aborted} aborts`;
});

await check('ranges are cached if the page says so, and asked for again after a reload', async () => {
    const seen = [];
    for (const round of ['first', 'second']) {
        own.log.length = 0;
        const { stats } = await run(`cache-${round}`, {
            script: async ({ small }) => {
                const { MeshmapLoader } = await import('meshmap/three');
                const loader = new MeshmapLoader().setOptions({ request: { cache: 'no-cache' } });
                return { stats: (await loader.loadAsync(`${small}?cached`)).stats };
            },
        });
        const asked = own.log.filter(({ url }) => url === SMALL);
        assert.equal(asked.length, stats.requests);
        seen.push(...asked.map(({ status }) => status));
    }
    assert.deepEqual(seen, [206, 304]);
    return seen.join(', ');
});

await browser.close();
await Promise.all([own.close(), other.close()]);
rmSync(pages, { recursive: true });
process.exit(failed ? 1 : 0);
