// The examples, built by Vite and run in Chromium: `node examples.mjs FOLDER`, into which pictures go. Exit status 1 if a check fails.
//
// CHROMIUM names the browser.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { build } from 'vite';

import { serve } from '../serve.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const FILES = {
    cgeo: 'cgeo/valid/anim_a.cgeo', iqm: 'iqm/valid/skin_multi_anim.iqm', openctm: 'openctm/valid/cyl_RAW_pn.ctm',
    slmesh: 'slmesh/valid/nodemv_02_static_4lod.slmesh', tmf: 'tmf/valid/v020_custom_all.tmf',
};
/** The formats whose files move in each example. */
const MOVES = { 'react-three-fiber': ['cgeo', 'iqm'], babylon: ['cgeo'] };

const out = mkdtempSync(join(tmpdir(), 'meshmap-examples-'));
for (const name of Object.keys(MOVES)) {
    await build({
        configFile: false,
        root: join(here, '../examples', name),
        base: './',
        logLevel: 'warn',
        // In a project that has installed the package, no setting is needed.
        resolve: {
            alias: [
                { find: 'meshmap/three', replacement: join(here, '../pkg/three.js') },
                { find: 'meshmap', replacement: join(here, '../pkg/index.js') },
            ],
        },
        build: { outDir: join(out, name), emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 4096 },
    });
}

const server = await serve({ '/': out, '/data/': join(here, '../../../tests/data') });
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    protocolTimeout: 120000,
});

/** The number of pixels that differ from the ground, which is at the corner, or from another picture. */
async function pixels(page, picture, other) {
    return page.evaluate(async (pictures) => {
        const read = async (picture) => {
            const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
            const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
            context.drawImage(bitmap, 0, 0);
            return new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
        };
        const [a, b] = await Promise.all(pictures.map(read));
        return a.reduce((count, pixel, at) => count + (pixel !== (b ? b[at] : a[0]) ? 1 : 0), 0);
    }, other ? [picture, other] : [picture]);
}

for (const [name, moving] of Object.entries(MOVES)) {
    const seen = [];
    for (const [format, file] of Object.entries(FILES)) {
        const page = await browser.newPage();
        const errors = [];
        page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
        page.on('pageerror', (error) => errors.push(String(error)));
        await page.setViewport({ width: 640, height: 480 });
        await page.goto(`${server.origin}/${name}/index.html?url=${encodeURIComponent(`/data/${file}`)}`);
        const take = () => page.screenshot({ encoding: 'base64' });
        const until = performance.now() + 30000;
        let [count, picture] = [0, ''];
        while (count < 5000 && performance.now() < until) {
            picture = await take();
            count = await pixels(page, picture);
        }
        assert.deepEqual(errors, [], `${name}, ${format}`);
        assert.ok(count >= 5000 && count < 300000, `${name}, ${format}: ${count} pixels`);
        await new Promise((done) => setTimeout(done, 500));
        const last = await take();
        writeFileSync(join(folder, `${name}-${format}.png`), last, 'base64');
        const moved = await pixels(page, last, picture);
        assert.equal(moved > 0, moving.includes(format), `${name}, ${format}: ${moved} pixels have changed`);
        seen.push(`${format} ${count}${moved ? ', moves' : ''}`);
        await page.close();
    }
    console.log(`${name}: ${seen.join('; ')} pixels`);
}
await browser.close();
await server.close();
rmSync(out, { recursive: true });
