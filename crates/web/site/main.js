import { MeshmapError, MeshmapLoader } from 'meshmap/three';
import { element, facts, images, levels, meshes, unitOf } from './about.js';
import { FileList } from './list.js';
import { hasVertices, nothingToDraw } from './nothing.js';
import { Stage } from './stage.js';
import { Timeline } from './timeline.js';

/** @param {string} id @returns {any} */
const the = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const percent = (/** @type {number} */ share) => share > 0 && share < 0.0001 ? 'less than 0.01 %' : `${(share * 100).toFixed(2)} %`;

/** The files that `meshmap view` serves, or that were dropped together. */
const list = new FileList(the('listed'), the('files'), the('filter'), ({ source }) => {
    if (typeof source === 'string') visit(source);
    else local(source);
});

/** @type {Stage | null} */
let stage = null;
try {
    stage = new Stage(the('view'), the('canvas'));
} catch (error) {
    problem(`This browser shows no pictures (WebGL): ${error instanceof Error ? error.message : error}. Files are read all the same.`);
}
const timeline = new Timeline(stage, { onSnapshot, onSeek: (snapshot) => link({ snapshot }), onError: fail });

/** The open object, for people who look from the console. */
const shown = {
    /** @type {import('meshmap/three').MeshmapObject | null} */
    object: null,
    stage,
    player: timeline.player,
};
/** @type {any} */ (globalThis).meshmapPage = shown;
let opening = new AbortController();
/** `true` if the user wants to see the joints of every file. */
let wantsBones = false;
/** The name and the length of the open file, and the images that were found. */
let about = { name: '', size: /** @type {number | null} */ (null), found: /** @type {string | null} */ (null) };

/** @param {string} text */
function say(text) {
    the('status').textContent = text;
}

/** @param {string} text An empty one takes the message away. */
function problem(text) {
    the('problem').hidden = !text;
    the('problem').textContent = text;
}

/** @param {unknown} error */
function fail(error) {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof MeshmapError && error.stats) tell(error.stats);
    const hint = error instanceof MeshmapError && error.kind === 'crash' ? ' The reader was started again.' : '';
    problem(`${error instanceof Error ? error.message : error}.${hint}`);
}

/** @param {{ requests: number, bytes: number, length: number | null }} stats */
function tell({ requests, bytes, length }) {
    const share = length ? bytes / length : 0;
    the('requests').textContent = number.format(requests);
    the('bytes').textContent = number.format(bytes);
    the('length').textContent = length === null ? 'not known' : number.format(length);
    the('share').textContent = length ? percent(share) : '–';
    the('bar').value = Math.min(1, share);
}

/** The name of the file at an address. @param {string} address */
function lastPart(address) {
    const path = address.replace(/[?#].*$/, '');
    const name = path.slice(path.lastIndexOf('/') + 1);
    try {
        return decodeURIComponent(name) || path;
    } catch {
        return name;
    }
}

/**
 * Opens a file in place of another one.
 *
 * @param {string | File} source
 * @param {{ level?: string, snapshot?: number }} [at]
 */
async function open(source, at = {}) {
    opening.abort();
    clear();
    const { signal } = opening = new AbortController();
    const listed = list.mark(source);
    const name = listed?.name ?? (typeof source === 'string' ? lastPart(source) : source.name);
    problem('');
    say(`Opening ${name} …`);
    the('stop').hidden = false;
    const started = performance.now();
    try {
        const textures = await imagesOf(listed?.images, signal);
        const loader = new MeshmapLoader().setOptions({ maxBlockBytes: 2 ** 29, ...at, ...textures, signal, yUp: true, onProgress: tell });
        const object = await (typeof source === 'string' ? loader.loadAsync(source) : loader.parseAsync(source));
        if (signal.aborted) {
            object.dispose();
            return;
        }
        shown.object = object;
        document.body.classList.add('shown');
        about = { name, size: typeof source === 'string' ? null : source.size, found: images(object) };
        stage?.show(object);
        skeleton(object);
        describe(object);
        tell(object.stats);
        const after = `after ${number.format(Math.round(performance.now() - started))} ms`;
        say(nothingToDraw(object) ? `${name}: read ${after}; no mesh to draw.` : `${name}: shown ${after}.`);
        document.title = `${name.split('/').pop()}: meshmap`;
    } catch (error) {
        if (signal.aborted) return;
        document.body.classList.add('shown');
        say(`${name} cannot be shown.`);
        fail(error);
    } finally {
        if (opening.signal === signal) the('stop').hidden = true;
    }
}

/**
 * The option of the loader for images that a server has found; by default the loader looks for them in the folder of the file.
 *
 * @param {string | undefined} address The address of the list of images.
 * @param {AbortSignal} signal
 */
async function imagesOf(address, signal) {
    if (address === undefined) return {};
    const response = await fetch(address, { signal });
    const found = new Map(response.ok ? Object.entries(await response.json()) : []);
    return { textures: (/** @type {string} */ name) => found.get(name) ?? null };
}

function clear() {
    timeline.set(null);
    stage?.show(null);
    shown.object?.dispose();
    shown.object = null;
    document.body.classList.remove('shown');
    for (const id of ['nothing', 'bones', 'lod', 'about', 'parts', 'told']) the(id).hidden = true;
    tell({ requests: 0, bytes: 0, length: null });
}

/** @param {import('meshmap/three').MeshmapObject} object */
function describe(object) {
    const own = object.scene?.up ?? 'y';
    const axes = [...new Set([own, 'y', 'z'])].sort();
    the('up').replaceChildren(...axes.map((axis) => new Option(`${axis.toUpperCase()} up`, axis, false, axis === own)));
    measured(object);
    offer(object);
    meshes(object, () => stage?.draw());
    timeline.set(object);
    scale();
}

/** Offers the levels of detail. @param {import('meshmap/three').MeshmapObject} object */
function offer(object) {
    levels(object, (level) => void change(object, async () => {
        await object.setLevel(level);
        link({ level });
    }));
}

/** Lists the facts, of which the size depends on the axis that points up. @param {import('meshmap/three').MeshmapObject} object */
function measured(object) {
    facts(object, about.name, about.size, stage?.sides() ?? [], about.found);
}

/** Explains why nothing is drawn, if that is so. @param {import('meshmap/three').MeshmapObject} object */
function explain(object) {
    const nothing = nothingToDraw(object);
    the('nothing').textContent = nothing;
    the('nothing').hidden = !nothing;
}

/** Offers the lines of the joints, and draws them if there is nothing else to draw. @param {import('meshmap/three').MeshmapObject} object */
function skeleton(object) {
    explain(object);
    the('bones').hidden = !object.skeleton;
    press('bones', wantsBones || !hasVertices(object));
    bones();
    if (!hasVertices(object)) stage?.fit();
}

function bones() {
    stage?.bones(isPressed('bones') && shown.object ? shown.object.skeleton : null);
}

/** @param {string} id @param {boolean} isPressed */
function press(id, isPressed) {
    the(id).setAttribute('aria-pressed', String(isPressed));
}

/** @param {string} id */
const isPressed = (id) => the(id).getAttribute('aria-pressed') === 'true';

/** Says how long the sides of the squares of the grid are. */
function scale() {
    const square = stage?.square ?? 0;
    const { object } = shown;
    const unit = object ? unitOf(object) : '';
    the('scale').textContent = square ? `Squares of ${Number(square.toPrecision(1))}${unit}` : '';
}

/**
 * Changes what is shown, and what is told of it.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 * @param {() => Promise<void>} run
 */
async function change(object, run) {
    problem('');
    try {
        await run();
        if (shown.object !== object) return;
        renewed(object);
    } catch (error) {
        if (shown.object !== object) return;
        timeline.player.pause();
        // The level that is still shown.
        offer(object);
        fail(error);
    }
    tell(object.stats);
}

/** Other meshes are shown. @param {import('meshmap/three').MeshmapObject} object */
function renewed(object) {
    meshes(object, () => stage?.draw());
    stage?.dress();
    // The first snapshot of a file may be empty.
    const wasEmpty = !the('nothing').hidden;
    explain(object);
    if (wasEmpty && the('nothing').hidden) stage?.fit();
}

/** The mesh of the snapshot that is shown. @type {unknown} */
let mesh = null;

function onSnapshot() {
    const { object } = shown;
    if (!object) return;
    tell(object.stats);
    if (object.children[0] !== mesh) {
        mesh = object.children[0];
        renewed(object);
    }
    stage?.draw();
}

/** Puts the shown part into the address of the page. @param {{ level?: string, snapshot?: number }} at */
function link(at) {
    const now = new URLSearchParams(location.hash.slice(1));
    if (!now.has('url')) return;
    for (const [key, value] of Object.entries(at)) now.set(key, String(value));
    history.replaceState(null, '', `#${now}`);
}

/** Opens a URL, which becomes a part of the address of the page. @param {string} url */
function visit(url) {
    const hash = `#${new URLSearchParams({ url })}`;
    if (location.hash === hash) follow();
    else location.hash = hash;
}

/** Opens what the address of the page names. */
function follow() {
    const now = new URLSearchParams(location.hash.slice(1));
    const url = now.get('url');
    if (!url) return;
    the('address').value = list.mark(url) ? '' : url;
    const level = now.get('level') ?? undefined;
    const snapshot = Number(now.get('snapshot') ?? 0);
    open(url, { ...(level && { level }), snapshot: Number.isSafeInteger(snapshot) && snapshot >= 0 ? snapshot : 0 });
}

/** Saves the picture as a PNG with the name of the file. */
async function save() {
    const picture = await stage?.picture();
    if (!picture) return;
    const name = document.title.replace(/: meshmap.*$/, '').replace(/\.[^.]*$/, '') || 'mesh';
    // Not the name of a texture next to the file.
    const download = `${name}_view.png`;
    const anchor = Object.assign(document.createElement('a'), { href: URL.createObjectURL(picture), download });
    anchor.click();
    say(`Saved ${download}.`);
    setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

function fill() {
    if (document.fullscreenElement) void document.exitFullscreen();
    else the('screen').requestFullscreen().catch((/** @type {Error} */ error) => problem(`The browser does not fill the screen: ${error.message}.`));
}

/** @param {string} look */
function dress(look) {
    if (!stage) return;
    the('look').value = look;
    stage.look = /** @type {import('./looks.js').Look} */ (look);
    stage.dress();
}

/** @param {'grid' | 'axes'} what */
function measure(what) {
    press(what, !isPressed(what));
    if (!stage) return;
    stage.wantsGrid = isPressed('grid');
    stage.wantsAxes = isPressed('axes');
    stage.measure();
    scale();
}

function toggleBones() {
    wantsBones = !isPressed('bones');
    press('bones', wantsBones);
    bones();
}

/** The effects of keys while the picture has the focus; the stage turns it by further keys. @type {Map<string, () => void>} */
const KEYS = new Map([
    [' ', () => timeline.toggle()],
    [',', () => timeline.step(-1)],
    ['.', () => timeline.step(1)],
    ['g', () => measure('grid')],
    ['a', () => measure('axes')],
    ['b', () => the('bones').hidden || toggleBones()],
    ['s', () => void save()],
    ['f', () => fill()],
    ['n', () => list.move(1)],
    ['p', () => list.move(-1)],
    ...[...the('look').options].map(({ value }, index) => /** @type {[string, () => void]} */ ([String(index + 1), () => dress(value)])),
]);
the('view').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const run = KEYS.get(event.key.toLowerCase());
    if (!run || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    run();
});

the('source').addEventListener('submit', (/** @type {Event} */ event) => {
    event.preventDefault();
    const url = the('address').value.trim();
    if (url) visit(url);
});
the('file').addEventListener('change', () => {
    several([...the('file').files]);
    // The same files may be chosen once more.
    the('file').value = '';
});
the('stop').addEventListener('click', () => {
    opening.abort();
    the('stop').hidden = true;
    say('Stopped.');
});
the('look').addEventListener('change', () => dress(the('look').value));
the('fit').addEventListener('click', () => stage?.fit());
the('grid').addEventListener('click', () => measure('grid'));
the('axes').addEventListener('click', () => measure('axes'));
the('bones').addEventListener('click', toggleBones);
the('up').addEventListener('change', () => {
    stage?.turn(the('up').value);
    if (shown.object) measured(shown.object);
});
the('save').addEventListener('click', () => void save());
the('full').addEventListener('click', fill);
document.addEventListener('fullscreenchange', () => press('full', document.fullscreenElement !== null));

/** Lists files of the user's disk, and opens the first one. @param {File[]} files */
function several(files) {
    if (files.length > 0) local(/** @type {File} */ (list.add(files).source));
}

/** @param {File} file */
function local(file) {
    the('address').value = '';
    history.replaceState(null, '', location.pathname + location.search);
    open(file);
}

addEventListener('hashchange', follow);
addEventListener('dragover', (event) => {
    event.preventDefault();
    the('view').classList.add('over');
});
addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) the('view').classList.remove('over');
});
addEventListener('drop', (event) => {
    event.preventDefault();
    the('view').classList.remove('over');
    several([...event.dataTransfer?.files ?? []]);
});

/** Links to files that lie beside the page. */
async function samples() {
    const list = await (await fetch('samples/list.json')).json();
    the('samples').replaceChildren(element('span', 'Samples:'), ...list.map((/** @type {string} */ name) => {
        return Object.assign(element('a', name), { href: `#${new URLSearchParams({ url: `samples/${name}` })}` });
    }));
    the('samples').hidden = list.length === 0;
}

/**
 * Holds a stream of events of `meshmap view`, which ends when no tab holds one. Only one tab holds it, because browsers open few
 * connections to a server; when that tab is closed, the next one takes over.
 */
function holdOpen() {
    const hold = () => new Promise((end) => {
        const tab = new EventSource('tab');
        tab.addEventListener('error', () => {
            tab.close();
            problem('meshmap view has ended: run it again to open files.');
            end(undefined);
        });
    });
    if (navigator.locks) void navigator.locks.request(`meshmap ${location.pathname}`, hold);
    else void hold();
}

/** Lists the files of `meshmap view`, and opens the first one. */
async function serve() {
    holdOpen();
    const { files, addresses } = await (await fetch('files.json')).json();
    // The server lets the page fetch addresses only if some were given to the command.
    the('by-address').hidden = !addresses;
    list.serve(files);
    if (location.hash) follow();
    else location.replace(`#${new URLSearchParams({ url: files[0].url })}`);
}

if ('served' in document.body.dataset) {
    serve().catch(fail);
} else {
    samples().catch(() => {});
    follow();
}
