// The page in Chromium: `node page.mjs FOLDER`, into which pictures go. Prints what was seen; the exit status is that of the checks.
//
// CHROMIUM names the browser. MESHMAP_CORPUS names the folder of the larger corpus, MESHMAP_SPARSE a proxy of 500 MB.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';
import puppeteer from 'puppeteer-core';

import { open } from '../pkg/index.js';
import { serve } from '../serve.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const data = join(here, '../../../tests/data');
const corpus = process.env.MESHMAP_CORPUS;
const sparse = process.env.MESHMAP_SPARSE;
const folder = process.argv[2] ?? join(here, '../target/pictures');
mkdirSync(folder, { recursive: true });

const SMALL = {
    cgeo: 'cgeo/valid/anim_a.cgeo', iqm: 'iqm/valid/skin_multi_anim.iqm', openctm: 'openctm/valid/cyl_RAW_pn.ctm',
    slmesh: 'slmesh/valid/nodemv_02_static_4lod.slmesh', tmf: 'tmf/valid/v020_custom_all.tmf',
};
const page_server = await serve({ '/': join(here, '../site/dist') });
// Another origin, whose headers are first hidden and then shown.
const folders = { '/data/': data, ...(corpus && { '/corpus/': corpus }), ...(sparse && { '/sparse/': dirname(sparse) }) };
const files = await serve(folders);
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    protocolTimeout: 120000,
});

let page;
/** Errors that the browser wrote to its console, but for those that a check expects. */
let console_errors = [];
const rows = [];

async function fresh(options = {}) {
    await page?.close();
    page = await browser.newPage();
    await page.setViewport(options.viewport ?? { width: 1280, height: 800 });
    if (options.features) await page.emulateMediaFeatures(options.features);
    page.on('console', (message) => {
        if (['error', 'warn'].includes(message.type()) && !/swiftshader|GPU stall|Automatic fallback/i.test(message.text())) console_errors.push(message.text());
    });
    page.on('pageerror', (error) => console_errors.push(String(error)));
    await page.goto(`${page_server.origin}/${options.hash ?? ''}`);
    await page.waitForFunction(() => document.querySelector('#samples:not([hidden])'));
}

const text = (id) => page.$eval(`#${id}`, (element) => element.textContent.trim());
const isPressed = (id) => page.$eval(`#${id}`, (button) => button.getAttribute('aria-pressed') === 'true');
const number = async (id) => Number((await text(id)).replace(/,/g, ''));

/** A PNG of a row of pixels with these alphas, each 16 by 64 pixels. */
function png(alphas) {
    const width = 16 * alphas.length;
    const row = Buffer.concat([Buffer.of(0), ...alphas.map((alpha) => Buffer.alloc(64, Buffer.of(40, 160, 60, alpha)))]);
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(64, 4);
    head.set([8, 6], 8);
    const chunk = (name, body) => {
        const named = Buffer.concat([Buffer.from(name), body]);
        const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
        length.writeUInt32BE(body.length);
        sum.writeUInt32BE(crc32(named));
        return Buffer.concat([length, named, sum]);
    };
    const rows = deflateSync(Buffer.concat(Array.from({ length: 64 }, () => row)));
    return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

/** Waits until a file is shown, or cannot be. */
async function settled(timeout = 60000) {
    await page.waitForFunction(() => /shown after|no mesh to draw|cannot be shown/.test(document.querySelector('#status').textContent), { timeout });
    return text('status');
}

async function byAddress(url) {
    await page.$eval('#address', (input, value) => { input.value = value; }, url);
    await page.$eval('#status', (element) => { element.textContent = ''; });
    await page.click('#source [type=submit]');
    return settled();
}

async function chosen(...paths) {
    await page.$eval('#status', (element) => { element.textContent = ''; });
    const input = await page.$('#file');
    await input.uploadFile(...paths);
    return settled();
}

/** Files are dropped: what a browser does when a reader lets go of them over the page. */
async function dropped(...paths) {
    await page.$eval('#status', (element) => { element.textContent = ''; });
    const session = await page.createCDPSession();
    const box = await (await page.$('#view')).boundingBox();
    const at = { x: box.x + 50, y: box.y + 50 };
    const data = { items: [], files: paths, dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop']) await session.send('Input.dispatchDragEvent', { type, ...at, data });
    await session.detach();
    return settled();
}

async function picture(name) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const path = join(folder, `${name}.png`);
    await page.screenshot({ path });
}

/** The number of pixels of the picture that differ from its ground. */
const drawn = () => colours(() => true);

/** The number of pixels of the picture that have a colour that a function accepts. */
const colours = (accept) => page.evaluate((accept) => new Promise((done) => {
    const isCounted = (0, eval)(accept);
    const canvas = document.querySelector('#canvas');
    requestAnimationFrame(() => {
        // In the frame in which it was drawn, it can be read.
        const stage = globalThis.meshmapPage.stage;
        stage.renderer.render(stage.scene, stage.camera);
        const { width, height } = canvas;
        const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, width, height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) count += data[i + 3] > 0 && isCounted(data.subarray(i, i + 3)) ? 1 : 0;
        done(count);
    });
}), `${accept}`);

/** The positions in three.js, mesh by mesh, as they would be drawn but for the turn of the object. */
const positions = () => page.evaluate(() => globalThis.meshmapPage.object.children.filter((part) => part.geometry).map((part) => {
    const position = part.geometry.getAttribute('position');
    const at = [];
    for (let i = 0; i < position.count; i += 1) {
        at.push(...[0, 1, 2].map((axis) => position.getComponent(i, axis) * part.scale.getComponent(axis) + part.position.getComponent(axis)));
    }
    return { address: part.userData.meshmap.address, at };
}));

/** Compares positions with those that the library reads of the same file. */
async function compare(path) {
    const file = await open(readFileSync(path));
    let count = 0;
    for (const { address, at } of await positions()) {
        const { array } = (await file.mesh(address)).attributes.position;
        assert.equal(at.length, array.length);
        for (let i = 0; i < at.length; i += 1) {
            assert.ok(Math.abs(at[i] - array[i]) <= 1e-6 * Math.max(1, Math.abs(array[i])), `${address} ${i}: ${at[i]}, ${array[i]}`);
        }
        count += at.length / 3;
    }
    assert.ok(count > 0);
    return count;
}

/** A check; console errors are its failure unless it `expects` them. */
async function check(name, run, { expects = false } = {}) {
    console_errors = [];
    const started = performance.now();
    try {
        const seen = await run();
        if (!expects) assert.deepEqual(console_errors, []);
        rows.push(['ok', name, `${Math.round(performance.now() - started)} ms`, seen ?? '']);
    } catch (error) {
        rows.push(['FAILED', name, '', error.stack ?? error]);
        await picture(`failed-${rows.length}`).catch(() => {});
    }
    console.log(rows.at(-1).join('  '));
}

await fresh();
await check('the empty page', () => picture('empty'));
for (const [format, name] of Object.entries(SMALL)) {
    const path = join(data, name);
    await check(`${format} dropped`, async () => {
        assert.match(await dropped(path), /shown after/);
        const pixels = await drawn();
        assert.ok(pixels > 10000, `${pixels} pixels`);
        await picture(`${format}-dropped`);
        return `${await compare(path)} positions, ${pixels} pixels`;
    });
    await check(`${format} chosen`, async () => {
        assert.match(await chosen(path), /shown after/);
    });
    for (const exposes of [true, false]) {
        await check(`${format} by an address of another origin, headers ${exposes ? 'shown' : 'hidden'}`, async () => {
            files.manners.exposes = exposes;
            assert.match(await byAddress(`${files.origin}/data/${name}`), /shown after/);
            const seen = `${await compare(path)} positions, ${await text('requests')} requests, ${await text('bytes')} bytes`;
            files.manners.exposes = true;
            return seen;
        });
    }
}
await check('snapshots by the keyboard', async () => {
    assert.match(await byAddress(`${files.origin}/data/${SMALL.cgeo}`), /shown after/);
    await page.focus('#seek');
    await page.keyboard.press('End');
    const { max } = await page.$eval('#seek', ({ max }) => ({ max: Number(max) }));
    await page.waitForFunction((max) => globalThis.meshmapPage.object.snapshot === max, {}, max);
    assert.match(await page.evaluate(() => location.hash), new RegExp(`snapshot=${max}`));
    await compare(join(data, SMALL.cgeo));
    return text('moment');
});
await check('playing is smooth, or by whole snapshots', async () => {
    const seen = [];
    for (const isSmooth of [true, false]) {
        assert.match(await byAddress(`${files.origin}/data/${SMALL.cgeo}`), /shown after/);
        if (!isSmooth) await page.click('#smooth');
        const snapshots = page.evaluate(() => new Promise((done) => {
            const seen = new Set();
            const look = () => {
                seen.add(globalThis.meshmapPage.object.snapshot);
                // Beyond the last one, and again from the first.
                if (seen.size > 3 && seen.has(0) && [...seen].some((snapshot) => snapshot > 10)) done([...seen]);
                else requestAnimationFrame(look);
            };
            look();
        }));
        await page.click('#playing');
        const shown = await snapshots;
        await picture(`cgeo-playing-${isSmooth ? 'smooth' : 'whole'}`);
        await page.click('#playing');
        assert.equal(shown.some((snapshot) => !Number.isInteger(snapshot)), isSmooth, `${shown}`);
        const still = await page.evaluate(() => globalThis.meshmapPage.object.snapshot);
        await new Promise((done) => setTimeout(done, 200));
        assert.equal(await page.evaluate(() => globalThis.meshmapPage.object.snapshot), still);
        seen.push(`${shown.length} pictures`);
    }
    await page.click('#smooth');
    return seen.join(', ');
});
await check('several files are a list', async () => {
    const paths = Object.values(SMALL).map((name) => join(data, name));
    const names = paths.map((path) => basename(path)).sort();
    for (const give of [chosen, dropped]) {
        await fresh();
        assert.match(await give(...paths), new RegExp(`^${names[0]}: shown after`));
        assert.deepEqual(await page.$$eval('#files [role=option]', (options) => options.map(({ textContent }) => textContent)), names);
        // By the keyboard.
        await page.focus('#files');
        for (const name of names.slice(1)) {
            await page.keyboard.press('ArrowDown');
            await page.waitForFunction((name) => document.querySelector('#status').textContent.startsWith(`${name}: shown after`), {}, name);
        }
    }
    await picture('list');
    assert.match(await chosen(paths[0]), /shown after/);
    assert.equal(await page.$eval('#listed', ({ hidden }) => hidden), true);
    return names.join(' ');
});
await check('files with nothing to draw', async () => {
    const seen = [];
    for (const [name, expected] of [
        ['cgeo/valid/empty_anim_a.cgeo', 'No mesh to draw: the file contains 3 snapshots without vertices.'],
        ['tmf/valid/v021_tangents_only.tmf', 'No mesh to draw: the file contains 1 mesh. meshes[0] is left out: it has no positions.'],
        ['tmf/valid/v011_empty_file.tmf', 'Nothing to draw: the file contains no meshes.'],
    ]) {
        assert.match(await chosen(join(data, name)), /no mesh to draw/);
        assert.equal(await text('nothing'), expected);
        assert.equal(await drawn(), 0, name);
        await picture(`nothing-${basename(name)}`);
        seen.push(await text('status'));
    }
    // Every valid file shows pixels or a message.
    for (const format of Object.keys(SMALL)) {
        for (const name of readdirSync(join(data, format, 'valid')).filter((name) => !name.endsWith('.json'))) {
            const status = await chosen(join(data, format, 'valid', name));
            assert.equal(status.includes('shown after'), await page.$eval('#nothing', ({ hidden }) => hidden), `${name}: ${status}`);
        }
    }
    assert.match(await chosen(join(data, SMALL.iqm)), /shown after/);
    assert.equal(await page.$eval('#nothing', ({ hidden }) => hidden), true);
    assert.equal(await isPressed('bones'), false);
    return seen.join(' | ');
});
await check('an image that a mesh names is drawn', async () => {
    assert.match(await byAddress(`${files.origin}/data/textures/crate.iqm`), /shown after/);
    const seen = await page.evaluate(() => {
        const { map } = globalThis.meshmapPage.object.children.find((part) => part.isMesh).material;
        return { size: [map.image.width, map.image.height], flipY: map.flipY };
    });
    assert.deepEqual(seen, { size: [64, 64], flipY: false });
    // A quarter of the image each is red, green, blue and yellow.
    const of = [([r, g, b]) => r > 2 * g && r > 2 * b, ([r, g, b]) => g > 2 * r && g > 2 * b, ([r, g, b]) => b > 2 * r && b > 2 * g];
    const pixels = [];
    for (const colour of of) pixels.push(await colours(colour));
    assert.ok(pixels.every((count) => count > 1000), `${pixels} pixels`);
    await picture('texture');
    return `${pixels} red, green and blue pixels`;
});

await check('joints are drawn as lines', async () => {
    const joints = [];
    for (const name of [SMALL.iqm, 'slmesh/valid/odd_w05_four_no_terminator.slmesh']) {
        assert.match(await chosen(join(data, name)), /shown after/);
        if (!await isPressed('bones')) await page.click('#bones');
        const orange = () => colours(([red, green, blue]) => red > 180 && green < 120 && blue < 80);
        assert.ok(await orange() > 20, `${name}: ${await orange()} pixels`);
        joints.push(await page.evaluate(() => globalThis.meshmapPage.object.skeleton.bones.length));
        await picture(`skeleton-${basename(name)}`);
        await page.click('#bones');
        assert.equal(await orange(), 0);
        await page.click('#bones');
    }
    // The lines follow the joints.
    assert.match(await chosen(join(data, SMALL.iqm)), /shown after/);
    const line = () => page.evaluate(() => [...globalThis.meshmapPage.stage.lines.geometry.getAttribute('position').array].join());
    const before = await line();
    await page.select('#clip', '0');
    await page.click('#playing');
    await page.waitForFunction((before) => [...globalThis.meshmapPage.stage.lines.geometry.getAttribute('position').array].join() !== before, { polling: 100 }, before);
    await picture('skeleton-playing');
    if (corpus) {
        assert.match(await dropped(join(corpus, 'slmesh/large/11_large_skinned_8x20k.slmesh')), /shown after/);
        assert.equal(await page.evaluate(() => globalThis.meshmapPage.object.children.filter((child) => child.isSkinnedMesh).length), 8);
        await picture('skeleton-slmesh');
    }
    await page.click('#bones');
    assert.match(await chosen(join(data, SMALL.cgeo)), /shown after/);
    assert.equal(await page.$eval('#bones', ({ hidden }) => hidden), true);
    return `${joints} joints`;
});
await check('a file with only animations shows its skeleton, which plays', async () => {
    assert.match(await chosen(join(data, 'iqm/valid/anim_only_joints.iqm')), /shown after/);
    assert.equal(await page.$eval('#nothing', ({ hidden }) => hidden), true);
    assert.equal(await isPressed('bones'), true);
    const pixels = await drawn();
    assert.ok(pixels > 20, `${pixels} pixels`);
    const line = () => page.evaluate(() => [...globalThis.meshmapPage.stage.lines.geometry.getAttribute('position').array].join());
    const before = await line();
    await page.select('#clip', '0');
    await page.click('#playing');
    await page.waitForFunction((before) => [...globalThis.meshmapPage.stage.lines.geometry.getAttribute('position').array].join() !== before, { polling: 100 }, before);
    await picture('skeleton-only');
    return `${pixels} pixels`;
});
await check('a link to a level of detail', async () => {
    await fresh({ hash: `#${new URLSearchParams({ url: `${files.origin}/data/${SMALL.slmesh}`, level: 'medium_lod' })}` });
    assert.match(await settled(), /shown after/);
    assert.equal(await page.$eval('#levels :checked', (radio) => radio.value), 'medium_lod');
    await page.click('#levels [value=high_lod]');
    await page.waitForFunction(() => globalThis.meshmapPage.object.level === 'high_lod');
    return compare(join(data, SMALL.slmesh)).then((count) => `${count} positions of the finest`);
});
await check('an animation plays', async () => {
    assert.match(await chosen(join(data, SMALL.iqm)), /shown after/);
    await page.select('#clip', '0');
    await page.click('#playing');
    const at = () => page.evaluate(() => globalThis.meshmapPage.object.children.map((child) => child.quaternion?.toArray()).join());
    const before = await at();
    await page.waitForFunction((before) => globalThis.meshmapPage.object.children.map((child) => child.quaternion?.toArray()).join() !== before, { polling: 100 }, before);
    await picture('iqm-playing');
});

await check('a clip: scrubbing, steps, speed and its end', async () => {
    assert.match(await chosen(join(data, SMALL.iqm)), /shown after/);
    // Playing a file in its bind pose begins with its first animation.
    await page.click('#playing');
    await page.waitForFunction(() => globalThis.meshmapPage.player.frame > 1);
    await page.click('#playing');
    assert.equal(await page.$eval('#clip', ({ value }) => value), '0');
    const frame = () => page.evaluate(() => globalThis.meshmapPage.player.frame);
    const pose = () => page.evaluate(() => globalThis.meshmapPage.object.skeleton.bones.map(({ quaternion }) => quaternion.toArray()).join());
    const poses = new Set();
    for (const at of [0, 3, 6]) {
        await page.$eval('#seek', (input, at) => { input.value = at; input.dispatchEvent(new Event('input')); }, at);
        await page.waitForFunction((at) => globalThis.meshmapPage.player.frame === at, {}, at);
        poses.add(await pose());
    }
    assert.equal(poses.size, 3);
    await page.click('#after');
    assert.equal(await frame(), 7);
    await page.click('#before');
    assert.equal(await frame(), 6);
    const seen = [await text('moment')];
    // Ten frames a second: half a second at two speeds.
    for (const speed of ['0.5', '2']) {
        await page.select('#speed', speed);
        await page.$eval('#seek', (input) => { input.value = 0; input.dispatchEvent(new Event('input')); });
        await page.waitForFunction(() => globalThis.meshmapPage.player.frame === 0);
        const passed = await page.evaluate(() => new Promise((done) => {
            const { player } = globalThis.meshmapPage;
            player.loops = false;
            const begun = performance.now();
            player.play();
            setTimeout(() => done([player.frame / 10 * 1000, performance.now() - begun]), 400);
        }));
        const wanted = passed[1] * Number(speed);
        assert.ok(passed[0] <= wanted + 1 && passed[0] > wanted * 0.5, `${speed}: ${passed}`);
        await page.evaluate(() => globalThis.meshmapPage.player.pause());
    }
    // Without a loop it ends at the last frame, and begins again from the first.
    await page.evaluate(() => globalThis.meshmapPage.player.play());
    await page.waitForFunction(() => !globalThis.meshmapPage.player.isPlaying);
    assert.equal(await frame(), await page.$eval('#seek', ({ max }) => Number(max)));
    assert.equal(await text('playing'), 'Play');
    await page.evaluate(() => globalThis.meshmapPage.player.play());
    await page.waitForFunction(() => globalThis.meshmapPage.player.frame < 5);
    await page.evaluate(() => {
        globalThis.meshmapPage.player.pause();
        globalThis.meshmapPage.player.loops = true;
    });
    await page.select('#speed', '1');
    await picture('timeline-clip');
    return seen.join();
});
await check('frames are left out if drawing is slow, and the clock is kept', async () => {
    const seen = [];
    for (const name of [SMALL.cgeo, SMALL.iqm]) {
        assert.match(await byAddress(`${files.origin}/data/${name}`), /shown after/);
        const { most, count, frames, step, period } = await page.evaluate(() => new Promise((done) => {
            const { player, stage } = globalThis.meshmapPage;
            const own = stage.drawNow;
            stage.drawNow = function () {
                own.call(stage);
                // A picture that takes 150 milliseconds.
                const end = performance.now() + 150;
                while (performance.now() < end);
            };
            document.querySelector('#playing').click();
            const { step, period, frames } = player.motion;
            const begun = performance.now();
            let [most, count] = [0, 0];
            const tell = player.onChange;
            player.onChange = () => {
                tell();
                if (!player.isPlaying) return;
                count += 1;
                const clock = (performance.now() - begun) / 1000 % period;
                const apart = Math.abs(Math.min(frames, clock / step) * step - player.frame * step);
                most = Math.max(most, Math.min(apart, Math.abs(period - apart)));
                if (performance.now() - begun < 3000) return;
                player.onChange = tell;
                delete stage.drawNow;
                player.pause();
                done({ most, count, frames, step, period });
            };
        }));
        const passed = Math.round(3 / step);
        assert.ok(count < passed * 0.8, `${count} of ${passed} frames`);
        assert.ok(most < 0.3, `${most} s from the clock`);
        seen.push(`${basename(name)}: ${count} pictures of ${passed} frames, at most ${most.toFixed(3)} s from the clock`);
    }
    return seen.join('; ');
});
await check('looks: shaded, wireframe, normals, UV, materials', async () => {
    const seen = [];
    for (const name of ['textures/crate.iqm', SMALL.slmesh, SMALL.cgeo, SMALL.iqm]) {
        assert.match(await byAddress(`${files.origin}/data/${name}`), /shown after/);
        const pictures = new Set();
        for (const look of await page.$$eval('#look option', (options) => options.map(({ value }) => value))) {
            await page.select('#look', look);
            assert.ok(await drawn() > 2000, `${name}: ${look}`);
            pictures.add(await page.evaluate(() => {
                const { stage } = globalThis.meshmapPage;
                stage.drawNow();
                return stage.renderer.domElement.toDataURL();
            }));
            await picture(`look-${look}-${basename(name)}`);
        }
        // Triangles of a proxy have a colour for each material already.
        assert.equal(pictures.size, 5, name);
        await page.select('#look', 'shaded');
        seen.push(basename(name));
    }
    // Other levels of detail have the look that was chosen.
    assert.match(await byAddress(`${files.origin}/data/${SMALL.slmesh}`), /shown after/);
    await page.select('#look', 'normals');
    await page.click('#levels [value=low_lod]');
    await page.waitForFunction(() => globalThis.meshmapPage.object.level === 'low_lod');
    assert.equal(await page.evaluate(() => globalThis.meshmapPage.object.children[0].material.type), 'MeshNormalMaterial');
    await page.select('#look', 'shaded');
    return seen.join(' ');
});
await check('masks are cut out, and glass is blended', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meshmap-alpha-'));
    const games = await serve({ '/': folder });
    const seen = [];
    for (const [alphas, expected] of [
        [[255, 255, 0, 0], { alphaTest: 0.5, transparent: false }],
        [[255, 128, 60, 0], { alphaTest: 0, transparent: true }],
        [[255, 254, 251, 250], { alphaTest: 0, transparent: false }],
        [[0, 0, 0, 0], { alphaTest: 0, transparent: false }],
    ]) {
        // Browsers do not ask for an image twice.
        const own = join(folder, `${seen.length}`);
        mkdirSync(own);
        copyFileSync(join(data, 'textures/crate.iqm'), join(own, 'crate.iqm'));
        writeFileSync(join(own, 'crate.png'), png(alphas));
        assert.match(await byAddress(`${games.origin}/${seen.length}/crate.iqm`), /shown after/);
        const made = await page.evaluate(() => {
            const { map, alphaTest, transparent } = globalThis.meshmapPage.object.children.find((part) => part.isMesh).material;
            return { hasMap: map !== null, alphaTest, transparent };
        });
        assert.deepEqual(made, { hasMap: true, ...expected }, `${alphas}`);
        await picture(`alpha-${alphas.join('-')}`);
        seen.push(alphas.join(' '));
    }
    await games.close();
    rmSync(folder, { recursive: true });
    return seen.join(', ');
});
await check('points are as wide as in pictures', async () => {
    assert.match(await chosen(join(data, 'cgeo/valid/points_a.cgeo')), /shown after/);
    const pixels = await drawn();
    assert.ok(pixels > 1000, `${pixels}`);
    await picture('points');
    return `${pixels} pixels`;
});
await check('grid, axes, the picture as a file, and the full screen', async () => {
    assert.match(await byAddress(`${files.origin}/data/${SMALL.cgeo}`), /shown after/);
    const before = await drawn();
    await page.click('#grid');
    await page.click('#axes');
    const after = await drawn();
    assert.ok(after > before + 2000, `${before} ${after}`);
    const scale = await text('scale');
    assert.match(scale, /^Squares of [\d.]+ m$/);
    await picture('grid-axes');
    const saved = await page.evaluate(async () => {
        const blob = await globalThis.meshmapPage.stage.picture();
        const bytes = new Uint8Array(await blob.arrayBuffer());
        const { width, height } = await createImageBitmap(blob);
        return { head: [...bytes.subarray(1, 4)], width, height };
    });
    assert.deepEqual(saved.head, [80, 78, 71]);
    assert.ok(saved.width > 500 && saved.height > 300);
    await page.click('#full');
    const isFull = (is) => page.waitForFunction((is) => document.querySelector('#full').getAttribute('aria-pressed') === is, {}, is);
    await isFull('true');
    assert.equal(await page.evaluate(() => document.fullscreenElement.id), 'screen');
    await picture('full-screen');
    await page.click('#full');
    await isFull('false');
    assert.equal(await page.evaluate(() => document.fullscreenElement), null);
    await page.click('#grid');
    await page.click('#axes');
    return `${scale}, ${saved.width} x ${saved.height}`;
});
await check('odd times, and loops that end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meshmap-times-'));
    const proxy = readFileSync(join(data, SMALL.cgeo));
    const name = 'Time per animation snapshot [microseconds]: ';
    const at = proxy.indexOf(name) + name.length;
    assert.ok(at > name.length);
    const still = join(folder, 'step0.cgeo');
    writeFileSync(still, Buffer.concat([proxy.subarray(0, at), Buffer.alloc(5, '0'), proxy.subarray(at + 5)]));
    assert.match(await chosen(still), /shown after/);
    await page.click('#playing');
    await page.waitForFunction(() => globalThis.meshmapPage.object.snapshot >= 3);
    await page.click('#playing');
    assert.match(await text('moment'), /^\d+ of 12$/);
    const refused = await page.evaluate(() => globalThis.meshmapPage.object.setSnapshot(NaN).then(() => 'shown', (error) => error.kind));
    assert.equal(refused, 'out_of_range');
    // The loop ends in the round in which it is switched off.
    assert.match(await chosen(join(data, SMALL.cgeo)), /shown after/);
    const seen = await page.evaluate(() => new Promise((done) => {
        const { player } = globalThis.meshmapPage;
        const { period, step } = player.motion;
        player.play();
        setTimeout(() => {
            document.querySelector('#loop').click();
            const frame = player.frame;
            setTimeout(() => {
                done([frame, player.frame]);
                player.pause();
                document.querySelector('#loop').click();
            }, step * 1000);
        }, period * 2000 + step * 2000);
    }));
    assert.ok(seen[1] < 9, `${seen}`);
    assert.match(await chosen(join(data, 'iqm/valid/frames_odd.iqm')), /shown after/);
    rmSync(folder, { recursive: true });
    return `frames ${seen}`;
});
await check('damaged images, and the origin of V in the look of UV', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meshmap-damaged-'));
    const games = await serve({ '/': folder });
    copyFileSync(join(data, 'textures/crate.iqm'), join(folder, 'crate.iqm'));
    writeFileSync(join(folder, 'crate.png'), png([255, 255]).subarray(0, 60));
    assert.match(await byAddress(`${games.origin}/crate.iqm`), /shown after/);
    assert.match(await text('facts'), /crate\.png \(not shown\)/);
    await games.close();
    rmSync(folder, { recursive: true });
    await page.select('#look', 'uv');
    const flips = [];
    for (const name of ['textures/crate.iqm', 'slmesh/valid/nodemv_02_static_4lod.slmesh', 'textures/crate.iqm']) {
        assert.match(await byAddress(`${files.origin}/data/${name}`), /shown after/);
        flips.push(await page.evaluate(() => globalThis.meshmapPage.object.children.find((part) => part.isMesh).material.map.flipY));
    }
    await page.select('#look', 'shaded');
    assert.deepEqual(flips, [false, true, false]);
}, { expects: true });
await check('keys of the picture', async () => {
    assert.match(await chosen(join(data, SMALL.iqm)), /shown after/);
    await page.focus('#view');
    for (const [key, test] of [
        ['2', () => document.querySelector('#look').value === 'wireframe'], ['1', () => document.querySelector('#look').value === 'shaded'],
        ['g', () => globalThis.meshmapPage.stage.grid !== null], ['g', () => globalThis.meshmapPage.stage.grid === null],
        ['a', () => globalThis.meshmapPage.stage.axes !== null], ['a', () => globalThis.meshmapPage.stage.axes === null],
        ['b', () => globalThis.meshmapPage.stage.lines !== null], ['b', () => globalThis.meshmapPage.stage.lines === null],
        ['Space', () => globalThis.meshmapPage.player.isPlaying], ['Space', () => !globalThis.meshmapPage.player.isPlaying],
        ['.', () => Number.isInteger(globalThis.meshmapPage.player.frame)],
    ]) {
        await page.keyboard.press(key);
        await page.waitForFunction(test, { timeout: 5000 });
    }
});
await check('long names are whole in the list', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meshmap-names-'));
    const paths = Array.from({ length: 14 }, (_, index) => join(folder, `a_very_long_name_of_a_model_that_a_studio_gave_it_${index}_final_version_2.iqm`));
    for (const path of paths) copyFileSync(join(data, SMALL.iqm), path);
    assert.match(await chosen(...paths), /shown after/);
    const cut = await page.$$eval('#files [role=option]', (options) => options.filter((one) => one.scrollWidth > one.clientWidth).length);
    assert.equal(cut, 0);
    await picture('list-long-names');
    await page.type('#filter', '_7_');
    assert.equal(await page.$$eval('#files [role=option]', (options) => options.filter((one) => one.checkVisibility()).length), 1);
    rmSync(folder, { recursive: true });
});

await check('bad files give a message, and the page goes on', async () => {
    const kinds = new Set();
    let count = 0;
    for (const format of Object.keys(SMALL)) {
        const bad = readdirSync(join(data, format, 'bad')).filter((name) => !name.endsWith('.json'));
        for (const name of bad.slice(0, 25)) {
            const status = await chosen(join(data, format, 'bad', name));
            if (!status.includes('cannot')) continue;
            const problem = await text('problem');
            assert.ok(problem.split(' ').length > 3 && !problem.includes('started again'), `${name}: ${problem}`);
            kinds.add(problem.split(':')[0]);
            count += 1;
        }
        assert.match(await chosen(join(data, SMALL[format])), /shown after/);
        assert.equal(await page.$eval('#problem', ({ hidden }) => hidden), true);
    }
    await chosen(join(data, 'iqm/bad', readdirSync(join(data, 'iqm/bad')).find((name) => name.endsWith('.iqm'))));
    await picture('bad');
    assert.ok(count > 50, `${count}`);
    return `${count} messages; the last: ${await text('problem')}`;
});
await check('what is no mesh, and what is no address', async () => {
    assert.match(await chosen(join(here, '../package.json')), /cannot/);
    const first = await text('problem');
    assert.match(await byAddress(`${files.origin}/none`), /cannot/);
    const second = await text('problem');
    assert.equal(await number('requests'), 1);
    files.manners.cors = false;
    assert.match(await byAddress(`${files.origin}/data/${SMALL.tmf}`), /cannot/);
    files.manners.cors = true;
    return `${first} | ${second} | ${await text('problem')}`;
}, { expects: true });
await check('a worker that ends is started again', async () => {
    assert.match(await byAddress(`${files.origin}/data/${SMALL.slmesh}`), /shown after/);
    const [worker] = page.workers();
    await worker.evaluate(() => setTimeout(() => { throw new Error('as a bug would'); }));
    await page.waitForFunction(() => globalThis.meshmapPage.object.file);
    await new Promise((done) => setTimeout(done, 300));
    await page.click('#levels [value=medium_lod]');
    await page.waitForSelector('#problem:not([hidden])');
    const said = await text('problem');
    assert.match(said, /started again/);
    assert.match(await chosen(join(data, SMALL.cgeo)), /shown after/);
    return said;
}, { expects: true });

if (corpus) {
    const url = `${files.origin}/corpus/slmesh/large/11_large_skinned_8x20k.slmesh`;
    await check('one level of detail of 7.07 MB', async () => {
        await fresh({ hash: `#${new URLSearchParams({ url, level: 'lowest_lod' })}` });
        assert.match(await settled(), /shown after/);
        const [requests, bytes, length] = [await number('requests'), await number('bytes'), await number('length')];
        assert.ok(bytes < length / 100, `${bytes} of ${length}`);
        // The header, the skin and the level.
        assert.equal(requests, 3);
        await picture('lowest-lod');
        const seen = `${requests} requests, ${bytes} of ${length} bytes: ${await text('share')}; ${await text('status')}`;
        await page.click('#levels [value=high_lod]');
        await page.waitForFunction(() => globalThis.meshmapPage.object.level === 'high_lod', { timeout: 60000 });
        await picture('high-lod');
        return `${seen}; the finest ${await text('requests')} requests, ${await text('bytes')} bytes`;
    });
    await check('snapshot 20 of 21.1 MB, and the next', async () => {
        const url = `${files.origin}/corpus/cgeo/large/anim_60k_40.cgeo`;
        await fresh({ hash: `#${new URLSearchParams({ url, snapshot: '20' })}` });
        assert.match(await settled(), /shown after/);
        const first = `${await text('requests')} requests, ${await text('bytes')} of ${await text('length')} bytes; ${await text('status')}`;
        await picture('snapshot-20');
        const before = await number('requests');
        await page.focus('#seek');
        await page.keyboard.press('ArrowRight');
        await page.waitForFunction(() => / 22 of /.test(document.querySelector('#moment').textContent));
        assert.ok(await number('requests') - before <= 1);
        return `${first}; with the next one ${await text('requests')} requests, ${await text('bytes')} bytes`;
    });
    await check('the large files, dropped', async () => {
        const seen = [];
        for (const format of ['openctm', 'iqm', 'tmf']) {
            const large = join(corpus, format, 'large');
            const name = readdirSync(large).filter((name) => !name.endsWith('.json')).sort((a, b) => statSync(join(large, a)).size - statSync(join(large, b)).size).at(-1);
            assert.match(await dropped(join(large, name)), /shown after/);
            await picture(`large-${format}`);
            seen.push(`${name}: ${(await text('status')).replace(/^.*shown after /, '')}`);
        }
        return seen.join(' ');
    });
}
if (sparse) {
    const size = statSync(sparse).size;
    const heap = async () => (await page.metrics()).JSHeapUsedSize;
    for (const way of ['address', 'dropped']) {
        await check(`a file of ${size} bytes by ranges, ${way}`, async () => {
            await fresh();
            const before = await heap();
            const status = way === 'address' ? await byAddress(`${files.origin}/sparse/${basename(sparse)}`) : await dropped(sparse);
            assert.match(status, /shown after/);
            await page.$eval('#seek', (input) => { input.value = input.max; input.dispatchEvent(new Event('input')); });
            await page.waitForFunction(() => globalThis.meshmapPage.object.snapshot === 3999);
            assert.ok(await number('bytes') < 1e6);
            assert.ok(await heap() - before < 50e6);
            return `${await text('requests')} requests, ${await text('bytes')} of ${await text('length')} bytes (${await text('share')})`;
        });
    }
}

await check('a phone, in the dark', async () => {
    const features = [{ name: 'prefers-color-scheme', value: 'dark' }];
    await fresh({ viewport: { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }, features });
    assert.match(await byAddress(`${files.origin}/data/${SMALL.cgeo}`), /shown after/);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${wide} pixels wide`);
    const box = await (await page.$('#canvas')).boundingBox();
    const before = await page.evaluate(() => globalThis.meshmapPage.stage.camera.position.toArray());
    await page.touchscreen.touchStart(box.x + 100, box.y + 100);
    await page.touchscreen.touchMove(box.x + 180, box.y + 120);
    await page.touchscreen.touchEnd();
    const after = await page.evaluate(() => globalThis.meshmapPage.stage.camera.position.toArray());
    assert.notDeepEqual(after, before);
    await picture('phone-dark');
    assert.match(await chosen(join(data, 'iqm/valid/anim_only_joints.iqm'), join(data, SMALL.slmesh)), /shown after/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
    await page.screenshot({ path: join(folder, 'phone-list.png'), fullPage: true });
});
for (const scheme of ['light', 'dark']) {
    await check(`keyboard, names and contrast, ${scheme}`, async () => {
        const hash = `#${new URLSearchParams({ url: `${files.origin}/data/${SMALL.slmesh}` })}`;
        await fresh({ hash, features: [{ name: 'prefers-color-scheme', value: scheme }] });
        assert.match(await settled(), /shown after/);
        await picture(scheme);
        const reached = [];
        for (let i = 0; i < 40; i += 1) {
            await page.keyboard.press('Tab');
            const at = await page.evaluate(() => {
                const element = document.activeElement;
                if (!element || element === document.body) return null;
                const seen = element.closest('.button') ?? element;
                return { id: element.id || element.value || element.textContent, outline: getComputedStyle(seen).outlineStyle };
            });
            if (!at) break;
            assert.notEqual(at.outline, 'none', `${at.id} shows no focus`);
            reached.push(at.id);
        }
        for (const id of ['file', 'address', 'look', 'up', 'fit', 'grid', 'axes', 'save', 'full', 'view']) assert.ok(reached.includes(id), `${id} is not reached: ${reached}`);
        // The picture turns by arrow keys.
        const eye = () => page.evaluate(() => globalThis.meshmapPage.stage.camera.position.toArray());
        const before = await eye();
        await page.focus('#view');
        await page.keyboard.press('ArrowLeft');
        assert.notDeepEqual(await eye(), before);
        await page.keyboard.press('Home');
        // Names for what reads the page aloud.
        const tree = await page.accessibility.snapshot();
        const nameless = [];
        (function look(node) {
            if (['button', 'textbox', 'searchbox', 'checkbox', 'radio', 'slider', 'combobox', 'listbox', 'option', 'link', 'toolbar'].includes(node.role) && !node.name) nameless.push(node.role);
            (node.children ?? []).forEach(look);
        })(tree);
        assert.deepEqual(nameless, []);
        const least = await page.evaluate(() => {
            const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
            const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
            const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
            const ground = (element) => {
                for (let at = element; at; at = at.parentElement) {
                    const colour = numbers(getComputedStyle(at).backgroundColor);
                    if (colour.length === 3 || colour[3] > 0) return colour;
                }
                return [255, 255, 255];
            };
            let least = [Infinity, ''];
            for (const element of document.querySelectorAll('body *')) {
                const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
                if (!own || !element.checkVisibility() || element.matches('option, .hidden')) continue;
                const [a, b] = [light(numbers(getComputedStyle(element).color)), light(ground(element))];
                const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (contrast < least[0]) least = [contrast, element.textContent.trim().slice(0, 30)];
            }
            return least;
        });
        assert.ok(least[0] >= 4.5, `${least}`);
        return `${reached.length} stops; least contrast ${least[0].toFixed(2)} (${least[1]})`;
    });
}

await browser.close();
await page_server.close();
await files.close();
const failed = rows.filter(([status]) => status !== 'ok').length;
writeFileSync(join(folder, 'report.txt'), rows.map((row) => row.join('  ')).join('\n'));
console.log(`${rows.length - failed} of ${rows.length} checks passed; pictures are in ${folder}`);
process.exit(failed ? 1 : 0);
