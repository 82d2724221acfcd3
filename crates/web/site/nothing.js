// The description of a file in which nothing can be drawn.

/** Names for readers of the attributes of a geometry. */
const NAMES = new Map(Object.entries({
    position: 'positions', normal: 'normals', tangent: 'tangents', color: 'colours', uv: 'texture coordinates', uv1: 'texture coordinates',
    uv2: 'texture coordinates', uv3: 'texture coordinates', skinIndex: 'joints', skinWeight: 'weights',
}));
const list = new Intl.ListFormat('en', { type: 'conjunction' });
const number = new Intl.NumberFormat('en');

/** @param {number} count @param {string} one @param {string} [many] */
const counted = (count, one, many = `${one}s`) => `${number.format(count)} ${count === 1 ? one : many}`;

/**
 * Describes a file in which nothing can be drawn; an empty text if something can.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 */
export function nothingToDraw(object) {
    const { info } = object.file;
    const geometries = object.children.flatMap((/** @type {any} */ child) => child.geometry ?? []);
    const vertices = (/** @type {any} */ geometry) => geometry.getAttribute('position')?.count ?? 0;
    if (geometries.some((geometry) => vertices(geometry) > 0)) return '';
    const found = [];
    if (info.snapshots) found.push(`${counted(info.snapshots.count, 'snapshot')} without vertices`);
    else if (geometries.length > 0) found.push(`${counted(geometries.length, 'mesh', 'meshes')} ${contentOf(geometries)}`);
    const joints = object.skeleton?.bones.length ?? info.jointCount;
    if (joints > 0) found.push(counted(joints, 'joint'));
    if (info.anims.length > 0) found.push(counted(info.anims.length, 'animation'));
    if (info.blocks.length > 0) found.push(`${info.blocks.length === 1 ? 'the block' : 'the blocks'} ${list.format(info.blocks)}`);
    if (found.length === 0) return 'Nothing to draw: the file contains no meshes.';
    const picture = object.skeleton ? ' The picture shows the joints.' : '';
    return `No mesh to draw: the file contains ${list.format(found)}.${picture}`;
}

/** @param {import('three').BufferGeometry[]} geometries None has a position. */
function contentOf(geometries) {
    const names = geometries.flatMap((geometry) => Object.entries(geometry.attributes).filter(([, { count }]) => count > 0).map(([name]) => name));
    const known = new Set(names.map((name) => NAMES.get(name) ?? `"${name.slice(1)}"`));
    return known.size > 0 ? `with ${list.format(known)}, but without positions` : 'without vertices';
}
