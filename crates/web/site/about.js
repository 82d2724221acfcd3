// The panel about the open file: facts, meshes, findings.

/** @param {string} id @returns {any} */
const the = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const FORMATS = { cgeo: 'CGeo (Corona proxy)', iqm: 'IQM', openctm: 'OpenCTM', slmesh: 'Second Life mesh', tmf: 'TMF' };
/** The most rows of a list. */
const MOST = 100;

/** @param {string} tag @param {string} text @param {string} [name] */
export function element(tag, text, name = '') {
    const made = document.createElement(tag);
    made.textContent = text;
    made.className = name;
    return made;
}

/**
 * The facts about a file.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 * @param {string} name
 * @param {number | null} size The length of a file of the user's disk.
 * @param {number[]} sides The sides of the box around what is drawn; empty if they are not known.
 * @param {string | null} found The images that were found.
 */
export function facts(object, name, size, sides, found) {
    const { info } = object.file;
    const { scene } = object;
    const rows = [
        ['Format', FORMATS[info.format]],
        ['Name', info.name ?? name.split('/').pop() ?? name],
        ['Size', size === null ? null : `${number.format(size)} bytes`],
        ['W × H × D', dimensions(sides, unitOf(object))],
        ['Up', scene && (scene.knowsUp ? scene.up.toUpperCase() : `not stored, ${scene.up.toUpperCase()} is usual`)],
        ['Joints', object.skeleton?.bones.length ?? (info.jointCount || null)],
        ['Images', found],
    ];
    the('about').hidden = false;
    the('facts').replaceChildren(...rows.filter(([, value]) => value !== null).map(([term, value]) => {
        const row = document.createElement('div');
        row.append(element('dt', String(term)), element('dd', String(value)));
        return row;
    }));
}

/**
 * The unit of lengths in the picture, with a blank before it; empty if the file knows none. The size of a Second Life mesh is its object's.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 */
export function unitOf({ file, scene }) {
    return file.info.format !== 'slmesh' && scene?.metresPerUnit !== null ? ' m' : '';
}

/** @param {number[]} sides @param {string} unit */
function dimensions(sides, unit) {
    if (sides.length === 0 || !sides.every(Number.isFinite)) return null;
    // Not broken at its blanks.
    // A flat object may have a height of rounding.
    const least = Math.max(...sides) * 1e-7;
    return (sides.map((length) => length < least ? 0 : Number(length.toPrecision(3))).join(' × ') + unit).replaceAll(' ', '\u00a0');
}

/** The most images that are named. */
const MOST_IMAGES = 6;
/** Names with the ending of an image. Others are names of materials, which may mean an image as well. */
const IMAGE = /\.(png|jpe?g|tga|bmp|webp|dds|tiff?|gif)/i;

/**
 * The images that a file names: which are shown, and which were not found. Asks the meshes, before another look hides their materials.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 */
export function images(object) {
    const names = new Map((object.scene?.shapes ?? []).map(({ address, material }) => [address, material?.image ?? '']));
    const [shown, missing] = [new Set(), new Set()];
    for (const part of /** @type {any[]} */ (object.children)) {
        const name = names.get(part.userData.meshmap?.address) ?? '';
        if ([part.material ?? []].flat().some(({ map }) => map)) shown.add(name);
        else if (IMAGE.test(name)) missing.add(name);
    }
    const listed = [...shown, ...[...missing].map((name) => `${name} (not shown)`)];
    const more = listed.length - MOST_IMAGES;
    if (listed.length === 0) return null;
    return listed.slice(0, MOST_IMAGES).join(', ') + (more > 0 ? `, ${number.format(more)} more` : '');
}

/**
 * The meshes that are shown, each of which can be hidden, and the findings about them.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 * @param {() => void} onHide
 */
export function meshes(object, onHide) {
    const parts = object.children.filter((/** @type {any} */ child) => child.geometry);
    the('parts').hidden = parts.length === 0;
    the('meshes').replaceChildren(...parts.slice(0, MOST).map((/** @type {any} */ part) => {
        const item = document.createElement('li');
        const label = document.createElement('label');
        const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: part.visible });
        box.addEventListener('change', () => {
            part.visible = box.checked;
            onHide();
        });
        const { geometry } = part;
        const triangles = (geometry.index?.count ?? 0) / 3;
        const count = triangles ? `${number.format(triangles)} ${triangles === 1 ? 'triangle' : 'triangles'}` : `${number.format(geometry.getAttribute('position')?.count ?? 0)} points`;
        label.append(box, element('span', part.name, 'name'), element('span', count, 'of'));
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
}

/**
 * The levels of detail of a file, one of which is shown.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 * @param {(level: string) => void} onChoose
 */
export function levels(object, onChoose) {
    const { levels } = object.file.info;
    the('lod').hidden = levels.length === 0;
    the('levels').replaceChildren(the('levels').firstElementChild, ...levels.map(({ name, byteRange }) => {
        const label = document.createElement('label');
        const radio = Object.assign(document.createElement('input'), { type: 'radio', name: 'level', value: name, checked: name === object.level });
        radio.addEventListener('change', () => onChoose(name));
        const bytes = byteRange ? `${number.format(byteRange[1] - byteRange[0])} bytes` : 'damaged';
        label.append(radio, name.replace('_lod', '').replace('_', ' '), element('span', bytes, 'of'));
        return label;
    }));
}
