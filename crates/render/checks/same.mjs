// Compares pictures by `meshmap render` with pictures by three.js, which draws the GLB files that `meshmap convert` makes of the same files.
//
//     node same.mjs MESHMAP FOLDER [--textures FOLDER].. [PATHS]..    contact sheets and a table go into FOLDER
//
// PATHS are files, and folders of which all mesh files are compared; besides them, a folder as a game has it (game.mjs). Exit status 1 if
// the mean difference of the colours of a file is more than 3 of 255, where both have the model, or if the two are not in one place.
//
// Left out: points, files that have dots for triangles that cannot be seen, models that are seen as lines, and pixels at which two
// triangles are in one place. Surfaces without an image and without colours have colours
// of a palette, which no GLB has: if all of a file are such, its clay is compared, and if some are, the others are.
//
// CHROMIUM names the browser, which draws by the processor.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRequire } from 'node:module';
import puppeteer from 'puppeteer-core';
import { makeGame } from './game.mjs';

const MOST = 3;
/** The share of the pixels with the model that both have: they differ along edges. */
const LEAST_SHARED = 0.97;
/** Fewer pixels are edges. */
const LEAST_PIXELS = 1000;
const SIZE = 256;
const KINDS = ['.cgeo', '.iqm', '.ctm', '.slmesh', '.llmesh', '.tmf'];

const [meshmap, folder, ...rest] = process.argv.slice(2);
const textures = [];
while (rest[0] === '--textures') textures.push(...rest.splice(0, 2).slice(1));
mkdirSync(folder, { recursive: true });
const work = mkdtempSync(join(tmpdir(), 'meshmap-same-'));
const three = dirname(dirname(createRequire(import.meta.url).resolve('three')));
const here = dirname(fileURLToPath(import.meta.url));

const PAGE = `<!doctype html><script type="importmap">${JSON.stringify({
  imports: { three: '/three/build/three.module.js', 'three/addons/': '/three/examples/jsm/' },
})}</script><script type="module" src="/page.js"></script>`;
const server = createServer((request, response) => {
  const path = new URL(request.url, 'http://here').pathname;
  const roots = { three, work };
  const [, root, ...parts] = path.split('/');
  const file = root === 'page.js' ? join(here, root) : join(roots[root] ?? '', ...parts);
  if (path === '/') return response.setHeader('content-type', 'text/html').end(PAGE);
  if (path === '/favicon.ico') return response.writeHead(204).end();
  const type = extname(file) === '.js' ? 'text/javascript' : 'application/octet-stream';
  return response.setHeader('content-type', type).end(readFileSync(file));
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const site = `http://127.0.0.1:${server.address().port}`;

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  protocolTimeout: 300000,
});
const page = await browser.newPage();
page.on('pageerror', error => console.log(`page: ${error}`));
page.on('console', message => {
  if (message.type() === 'error') console.log(`page: ${message.text()}`);
});
await page.goto(site);
await page.waitForFunction(() => globalThis.compare);

const bytesOf = address => Buffer.from(address.slice(address.indexOf(',') + 1), 'base64');
const encoder = kind => async ({ width, height, bytes }) =>
  bytesOf(await page.evaluate((image, kind) => globalThis.encode(image, kind), { width, height, bytes: [...bytes] }, kind));

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true }).filter(name => KINDS.includes(extname(name)));
  return names.sort().map(name => join(path, name));
}

/** Runs the command; returns its report and its success. */
function ran(...options) {
  const { status, stdout, stderr } = spawnSync(meshmap, options, { encoding: 'utf8' });
  return { isDone: status === 0, report: stdout + stderr };
}

/** Runs the command with options about images. They are errors for files that name no image: then it runs without. */
function ranWith(found, ...options) {
  const first = ran(...options, ...found);
  return first.isDone ? first : ran(...options);
}

async function compared({ file, textures, view, expected }) {
  const [glb, picture] = [join(work, 'a.glb'), join(work, 'a.png')];
  const found = textures.flatMap(path => ['--textures', path]);
  if (!ranWith(['--embed-textures', ...found], 'convert', file, '-o', glb, '--force').isDone) return 'no GLB';
  const opened = await page.evaluate(address => globalThis.open(address), `${site}/work/a.glb`);
  if (opened.triangles === 0) return 'no triangles';
  const mode = opened.isPlain ? ['--mode', 'clay'] : [];
  const drawn = ranWith(found, 'render', file, '-o', picture, '--force', '--size', `${SIZE}x${SIZE}`, '--samples', '1', '--no-occlusion', '--no-shadow',
    '--background', 'transparent', '--view', view, ...mode);
  if (!drawn.isDone) return 'no picture';
  if (/dots/.test(drawn.report)) return 'dots';
  const options = { name: `${basename(file)}${view === 'three-quarter' ? '' : ` ${view}`}`, size: SIZE, view, isClay: opened.isPlain };
  const outcome = await page.evaluate((address, options) => globalThis.compare(address, options), `${site}/work/a.png`, options);
  if (outcome.both < LEAST_PIXELS) return 'lines';
  if (outcome.compared < LEAST_PIXELS) return 'two surfaces in one place';
  return { file: options.name, expected, images: opened.images, isClay: opened.isPlain, ...outcome };
}

const game = join(work, 'game');
const imagesOf = await makeGame(game, { jpeg: encoder('image/jpeg'), webp: encoder('image/webp') });
const cases = rest.flatMap(filesOf).map(file => ({ file, textures, view: 'three-quarter' }));
for (const [name, expected] of imagesOf) {
  const views = expected > 1 ? ['three-quarter', 'front', 'side', 'top'] : ['three-quarter'];
  for (const view of views) cases.push({ file: join(game, 'models/props', name), textures: [join(game, 'textures')], view, expected });
}

const rows = [];
const leftOut = new Map();
for (const one of cases) {
  const outcome = await compared(one);
  if (typeof outcome === 'string') leftOut.set(outcome, [...leftOut.get(outcome) ?? [], basename(one.file)]);
  else rows.push(outcome);
}
const line = ({ file, images, isClay, mean, most, shared, compared, both }) =>
  `| ${file} | ${isClay ? 'clay' : `${images} images`} | ${compared} of ${both} | ${(100 * shared).toFixed(2)} % | ${mean.toFixed(3)} | ${most.toFixed(1)} |`;
rows.sort((a, b) => b.mean - a.mean);
const table = ['| file | surfaces | pixels compared | in one place | mean difference | largest |', '|---|---|--:|--:|--:|--:|', ...rows.map(line)];
writeFileSync(join(folder, 'same.md'), `${table.join('\n')}\n`);
for (const [kind, name] of ['render', 'three', 'difference'].entries()) {
  writeFileSync(join(folder, `${name}.png`), bytesOf(await page.evaluate(kind => globalThis.sheet(kind), kind)));
}
await browser.close();
server.close();
rmSync(work, { recursive: true });

console.log(table.join('\n'));
for (const [why, names] of leftOut) console.log(`left out, ${why}: ${names.join(' ')}`);
const lacking = rows.filter(({ expected, images }) => expected !== undefined && expected !== images);
for (const { file, expected, images } of lacking) console.log(`${file}: ${images} of ${expected} images are in the GLB`);
const wrong = rows.filter(({ mean, shared }) => mean > MOST || shared < LEAST_SHARED);
for (const { file, mean, shared } of wrong) console.log(`${file}: the mean difference is ${mean.toFixed(2)} of 255, ${(100 * shared).toFixed(1)} % of the pixels are shared`);
console.log(`three.js: ${rows.length} pictures, ${wrong.length} differ; the worst is ${rows[0]?.file}: ${rows[0]?.mean.toFixed(3)} of 255`);
process.exit(wrong.length + lacking.length > 0 || rows.length < 25 ? 1 : 0);
