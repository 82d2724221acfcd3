import { MeshmapError, MeshmapLoader } from 'meshmap/three';
import { FileList } from './list.js';
import { hasVertices, nothingToDraw } from './nothing.js';
import { Stage } from './stage.js';

/** @param {string} id @returns {any} */
const the = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const percent = (/** @type {number} */ share) => share > 0 && share < 0.0001 ? 'less than 0.01 %' : `${(share * 100).toFixed(2)} %`;
const FORMATS = { cgeo: 'CGeo (Corona proxy)', iqm: 'IQM', openctm: 'OpenCTM', slmesh: 'Second Life mesh', tmf: 'TMF' };

/** The files that `meshmap view` serves, or that were dropped together. */
const list = new FileList(the('listed'), the('files'), ({ source }) => {
    if (typeof source === 'string') location.hash = `#${new URLSearchParams({ url: source })}`;
    else local(source);
});

/** @type {Stage | null} */
let stage = null;
try {
    stage = new Stage(the('view'), the('canvas'));
} catch (error) {
    problem(`This browser shows no pictures (WebGL): ${error instanceof Error ? error.message : error}. Files are read all the same.`);
}

/** The open object, for people who look from the console. @type {{ object: import('meshmap/three').MeshmapObject | null, stage: Stage | null }} */
const shown = { object: null, stage };
/** @type {any} */ (globalThis).meshmapPage = shown;
let opening = new AbortController();
/** `true` if the user wants to see the joints of every file. */
let wantsBones = false;
/** The frame that plays the next snapshot; 0 if none plays. */
let frame = 0;

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
    const name = list.mark(source)?.name ?? (typeof source === 'string' ? source : source.name);
    problem('');
    say(`Opening ${name} …`);
    the('stop').hidden = false;
    const started = performance.now();
    const loader = new MeshmapLoader().setOptions({ maxBlockBytes: 2 ** 29, ...at, signal, yUp: true, onProgress: tell });
    try {
        const object = await (typeof source === 'string' ? loader.loadAsync(source) : loader.parseAsync(source));
        if (signal.aborted) {
            object.dispose();
            return;
        }
        shown.object = object;
        document.body.classList.add('shown');
        stage?.show(object);
        skeleton(object);
        describe(object, name, typeof source === 'string' ? null : source.size);
        tell(object.stats);
        const after = `after ${number.format(Math.round(performance.now() - started))} ms`;
        say(nothingToDraw(object) ? `${name}: read ${after}; no mesh to draw.` : `${name}: shown ${after}.`);
        document.title = `${name.split('/').pop()}: meshmap`;
    } catch (error) {
        if (signal.aborted) return;
        say(`${name} cannot be shown.`);
        fail(error);
    } finally {
        if (opening.signal === signal) the('stop').hidden = true;
    }
}

function clear() {
    pause();
    stage?.show(null);
    shown.object?.dispose();
    shown.object = null;
    document.body.classList.remove('shown');
    for (const id of ['nothing', 'skeleton', 'play', 'time', 'clips', 'lod', 'about', 'parts', 'told']) the(id).hidden = true;
    tell({ requests: 0, bytes: 0, length: null });
}

/**
 * @param {import('meshmap/three').MeshmapObject} object
 * @param {string} name
 * @param {number | null} size
 */
function describe(object, name, size) {
    const { info } = object.file;
    const { snapshots, anims, levels } = info;
    const { scene } = object;
    facts([
        ['Format', FORMATS[info.format]],
        ['Name', info.name ?? name.split('/').pop() ?? name],
        ['Size', size === null ? null : `${number.format(size)} bytes`],
        ['Up', scene && (scene.knowsUp ? scene.up.toUpperCase() : `not specified, drawn as ${scene.up.toUpperCase()}`)],
        ['Joints', object.skeleton?.bones.length ?? (info.jointCount || null)],
    ]);
    the('play').hidden = !(levels.length || anims.length || (snapshots?.count ?? 0) > 1);
    the('time').hidden = (snapshots?.count ?? 0) < 2;
    if (snapshots) {
        the('snapshot').max = snapshots.count - 1;
        the('snapshot').value = object.snapshot;
        moment(object);
    }
    the('clips').hidden = object.animations.length === 0;
    the('clip').replaceChildren(option('', 'nothing'), ...object.animations.map((clip, index) => option(String(index), clip.name)));
    the('lod').hidden = levels.length === 0;
    the('levels').replaceChildren(the('levels').firstElementChild, ...levels.map((level) => choice(object, level)));
    meshes(object);
}

/** @param {[string, string | number | null][]} rows */
function facts(rows) {
    the('about').hidden = false;
    the('facts').replaceChildren(...rows.filter(([, value]) => value !== null).map(([term, value]) => {
        const row = document.createElement('div');
        row.append(element('dt', term), element('dd', String(value)));
        return row;
    }));
}

/** @param {string} tag @param {string} text @param {string} [name] */
function element(tag, text, name = '') {
    const made = document.createElement(tag);
    made.textContent = text;
    made.className = name;
    return made;
}

/** @param {string} value @param {string} text */
function option(value, text) {
    return Object.assign(document.createElement('option'), { value, textContent: text });
}

/** Offers the lines of the joints, and draws them if there is nothing else to draw. @param {import('meshmap/three').MeshmapObject} object */
function skeleton(object) {
    const nothing = nothingToDraw(object);
    the('nothing').textContent = nothing;
    the('nothing').hidden = !nothing;
    the('skeleton').hidden = !object.skeleton;
    the('bones').checked = wantsBones || !hasVertices(object);
    bones();
    if (!hasVertices(object)) stage?.fit();
}

function bones() {
    stage?.bones(the('bones').checked && shown.object ? shown.object.skeleton : null);
}

/**
 * @param {import('meshmap/three').MeshmapObject} object
 * @param {import('meshmap').Level} level
 */
function choice(object, { name, byteRange }) {
    const label = document.createElement('label');
    const radio = Object.assign(document.createElement('input'), { type: 'radio', name: 'level', value: name, checked: name === object.level });
    radio.addEventListener('change', () => change(object, async () => {
        await object.setLevel(name);
        link({ level: name });
    }));
    const bytes = byteRange ? `${number.format(byteRange[1] - byteRange[0])} bytes` : 'damaged';
    label.append(radio, name.replace('_lod', '').replace('_', ' '), element('span', bytes, 'of'));
    return label;
}

/** @param {import('meshmap/three').MeshmapObject} object */
function meshes(object) {
    const MOST = 100;
    const parts = object.children.filter((/** @type {any} */ child) => child.geometry);
    the('parts').hidden = parts.length === 0;
    the('meshes').replaceChildren(...parts.slice(0, MOST).map((/** @type {any} */ part) => {
        const item = document.createElement('li');
        const label = document.createElement('label');
        const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: part.visible });
        box.addEventListener('change', () => {
            part.visible = box.checked;
            stage?.draw();
        });
        const { geometry } = part;
        const triangles = (geometry.index?.count ?? 0) / 3;
        const count = triangles ? `${number.format(triangles)} triangles` : `${number.format(geometry.getAttribute('position')?.count ?? 0)} points`;
        label.append(box, part.name, element('span', count, 'of'));
        item.append(label);
        return item;
    }));
    const hidden = parts.length - Math.min(parts.length, MOST);
    const left = Math.max(0, object.meshCount - parts.length - object.errors.length);
    the('more').textContent = [
        hidden ? `${number.format(hidden)} more are shown, and not listed.` : '',
        left ? `${number.format(left)} more are in the file, and not shown.` : '',
    ].filter(Boolean).join(' ');
    const found = [
        ...object.errors.map((error) => ({ severity: 'unusable', message: error.message })),
        ...object.file.info.findings,
        ...parts.flatMap((/** @type {any} */ part) => part.userData.meshmap.findings),
    ];
    the('told').hidden = false;
    the('findings').replaceChildren(...(found.length ? found : [{ severity: '', message: 'None.' }]).slice(0, MOST).map(({ severity, message }) => {
        const item = document.createElement('li');
        item.append(element('span', severity ? `${severity}: ` : '', `severity ${severity}`), message);
        return item;
    }));
    wires();
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
        meshes(object);
        stage?.draw();
    } catch (error) {
        pause();
        if (shown.object === object) fail(error);
    }
    tell(object.stats);
}

/** @param {import('meshmap/three').MeshmapObject} object */
function moment(object) {
    const { count, start, step } = object.file.info.snapshots ?? { count: 0, start: null, step: null };
    const index = object.snapshot ?? 0;
    const time = step === null ? '' : `, ${((start ?? 0) + index * step).toFixed(3)} s`;
    the('moment').textContent = `${Math.floor(index) + 1} of ${number.format(count)}${time}`;
    the('snapshot').setAttribute('aria-valuetext', the('moment').textContent);
}

/** @param {import('meshmap/three').MeshmapObject} object @param {number} index */
async function goto(object, index) {
    const children = object.children[0];
    try {
        await object.setSnapshot(index);
    } catch (error) {
        pause();
        if (shown.object === object) fail(error);
    }
    if (shown.object !== object) return;
    moment(object);
    tell(object.stats);
    if (object.children[0] !== children) meshes(object);
    stage?.draw();
}

function pause() {
    cancelAnimationFrame(frame);
    frame = 0;
    the('playing').setAttribute('aria-pressed', 'false');
    the('playing').textContent = 'Play';
}

function wires() {
    shown.object?.traverse((/** @type {any} */ part) => {
        for (const material of [part.material ?? []].flat()) material.wireframe = the('wire').checked;
    });
    stage?.draw();
}

/** Puts the shown part into the address of the page. @param {{ level?: string, snapshot?: number }} at */
function link(at) {
    const now = new URLSearchParams(location.hash.slice(1));
    if (!now.has('url')) return;
    for (const [key, value] of Object.entries(at)) now.set(key, String(value));
    history.replaceState(null, '', `#${now}`);
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

the('source').addEventListener('submit', (/** @type {Event} */ event) => {
    event.preventDefault();
    const url = the('address').value.trim();
    if (!url) return;
    const hash = `#${new URLSearchParams({ url })}`;
    if (location.hash === hash) follow();
    else location.hash = hash;
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
the('fit').addEventListener('click', () => stage?.fit());
the('wire').addEventListener('change', wires);
the('bones').addEventListener('change', () => {
    wantsBones = the('bones').checked;
    bones();
});
the('turn').addEventListener('change', () => stage?.turn(the('turn').checked));
the('clip').addEventListener('change', () => {
    const clip = the('clip').value;
    stage?.play(clip === '' ? null : shown.object?.animations[Number(clip)] ?? null);
});
the('snapshot').addEventListener('input', () => {
    const index = Number(the('snapshot').value);
    if (shown.object) goto(shown.object, index).then(() => link({ snapshot: index }));
});
the('playing').addEventListener('click', () => {
    const object = shown.object;
    if (frame || !object) return pause();
    the('playing').setAttribute('aria-pressed', 'true');
    the('playing').textContent = 'Pause';
    const { count = 0, step = null } = object.file.info.snapshots ?? {};
    const wait = Math.min(1000, Math.max(16, (step ?? 0.04) * 1000));
    let at = object.snapshot ?? 0;
    let before = performance.now();
    const next = async () => {
        const now = performance.now();
        // No snapshot is left out: if fetching is slow, so is playing.
        at = (at + Math.min(1, (now - before) / wait)) % count;
        before = now;
        const index = the('smooth').checked ? Math.min(at, count - 1) : Math.floor(at);
        await goto(object, index);
        the('snapshot').value = Math.floor(index);
        if (frame) frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
});

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

/** Lists the files of `meshmap view`, and opens the first one. The program ends when no tab holds its stream of events. */
async function serve() {
    const tab = new EventSource('tab');
    tab.addEventListener('error', () => {
        tab.close();
        problem('meshmap view has ended: run it again to open files.');
    });
    const served = await (await fetch('files.json')).json();
    list.serve(served);
    if (location.hash) follow();
    else location.replace(`#${new URLSearchParams({ url: served[0].url })}`);
}

if ('served' in document.body.dataset) {
    serve().catch(fail);
} else {
    samples().catch(() => {});
    follow();
}
