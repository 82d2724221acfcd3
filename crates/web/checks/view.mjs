// `meshmap view` and the command of the npm package in Chromium: `node view.mjs MESHMAP FOLDER`, into which pictures go.
//
// MESHMAP is the command or the script of the package. Exit status 1 if a check fails.
//
// CHROMIUM names the browser. Only the keyboard is used.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const data = fileURLToPath(new URL('../../../tests/data', import.meta.url));
const [program, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const FILES = [
    'cgeo/valid/anim_a.cgeo', 'iqm/valid/skin_multi_anim.iqm', 'openctm/valid/cyl_RAW_pn.ctm',
    'slmesh/valid/nodemv_02_static_4lod.slmesh', 'tmf/valid/v020_custom_all.tmf',
];
const meshes = mkdtempSync(join(tmpdir(), 'meshmap-view-'));
for (const file of FILES) copyFileSync(join(data, file), join(meshes, basename(file)));

/** Starts the command; returns its address and the promise of its exit status. */
async function view(path) {
    const [command, ...first] = program.endsWith('.js') ? [process.execPath, program] : [program, 'view', '-q'];
    const child = spawn(command, [...first, '--no-open', path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit').then(([code]) => code);
    const [address] = await once(createInterface(child.stdout), 'line');
    return { address, ended };
}

const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    protocolTimeout: 120000,
});
const problems = [];

async function open(address) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 800 });
    page.on('console', (message) => {
        if (['error', 'warn'].includes(message.type()) && !/swiftshader|GPU stall|Automatic fallback/i.test(message.text())) problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(address);
    return page;
}

const shown = (page, name) => page.waitForFunction((name) => document.querySelector('#status').textContent.startsWith(`${name}: shown after`), { timeout: 60000 }, name);
const focused = (page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.value);

/** Presses Tab until an element is reached. */
async function tab(page, id) {
    for (let i = 0; i < 60; i += 1) {
        if (await focused(page) === id) return;
        await page.keyboard.press('Tab');
    }
    assert.fail(`${id} is not reached`);
}

async function picture(page, name) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.screenshot({ path: join(folder, `view-${name}.png`) });
}

// A folder: the list is sorted by name, and the first file is shown.
const names = FILES.map((file) => basename(file)).sort();
const all = await view(meshes);
const page = await open(all.address);
await shown(page, names[0]);
assert.deepEqual(await page.$$eval('#files [role=option]', (options) => options.map(({ textContent }) => textContent)), names);
await picture(page, names[0]);
const top = await page.$eval('main', (main) => main.getBoundingClientRect().top);
assert.ok(top <= 60, `the header takes ${top} pixels`);
await tab(page, 'playing');
await page.keyboard.press('Enter');
await page.waitForFunction(() => globalThis.meshmapPage.object.snapshot >= 2);
await page.keyboard.press('Enter');
await tab(page, 'seek');
await page.keyboard.press('End');
await page.waitForFunction(() => globalThis.meshmapPage.object.snapshot === 11);
await picture(page, 'last-snapshot');
for (const name of names.slice(1)) {
    await page.focus('body');
    await tab(page, 'files');
    await page.keyboard.press('ArrowDown');
    await shown(page, name);
    assert.ok((await page.$eval('#findings', ({ textContent }) => textContent)).length > 0);
    if (name.endsWith('.slmesh')) {
        await tab(page, 'high_lod');
        await page.keyboard.press('ArrowDown');
        await page.waitForFunction(() => globalThis.meshmapPage.object.level === 'medium_lod');
    }
    if (name.endsWith('.iqm')) {
        await tab(page, 'clip');
        await page.keyboard.press('ArrowDown');
        await tab(page, 'view');
        await page.keyboard.press('Space');
        const at = () => page.evaluate(() => globalThis.meshmapPage.object.children.map((child) => child.quaternion?.toArray()).join());
        const before = await at();
        await page.waitForFunction((before) => globalThis.meshmapPage.object.children.map((child) => child.quaternion?.toArray()).join() !== before, { polling: 100 }, before);
        await tab(page, 'bones');
        await page.keyboard.press('Space');
        await page.waitForFunction(() => globalThis.meshmapPage.stage.lines?.bones.length === 5);
    }
    await picture(page, name);
}
// Reloading shows the same file. The link of the page names it by its number only.
await page.reload();
await shown(page, names.at(-1));
assert.match(page.url(), /#url=file%2F4%2Fmesh$/);

// Another site cannot read the files, and the page of one command not those of another.
const one = await view(join(data, FILES[0]));
const second = await open(one.address);
await shown(second, basename(FILES[0]));
assert.ok(await second.$eval('#listed', ({ hidden }) => hidden));
const problems_before = problems.length;
const refused = await second.evaluate((address) => fetch(`${address}file/0/mesh`).then(() => 'read', () => 'refused'), all.address);
assert.equal(refused, 'refused');
problems.splice(problems_before);

await second.close();
assert.equal(await one.ended, 0);
await page.close();
assert.equal(await all.ended, 0);

// The page reports that the command has ended.
const stopped = await view(join(data, FILES[0]));
const third = await open(stopped.address);
await shown(third, basename(FILES[0]));
assert.deepEqual(problems, []);
await browser.close();
assert.equal(await stopped.ended, 0);
rmSync(meshes, { recursive: true });
console.log(`meshmap view: ${names.length} files shown, by the keyboard; pictures are in ${folder}`);
