// The description of a file in which nothing can be drawn.

const list = new Intl.ListFormat('en', { type: 'conjunction' });
const number = new Intl.NumberFormat('en');

/** @param {number} count @param {string} one @param {string} [many] */
const counted = (count, one, many = `${one}s`) => `${number.format(count)} ${count === 1 ? one : many}`;

/**
 * Returns `true` if a mesh of the object has vertices.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 */
export function hasVertices(object) {
    return object.children.some((/** @type {any} */ child) => child.geometry?.getAttribute('position')?.count > 0);
}

/**
 * Describes a file in which nothing can be drawn; an empty text if a mesh or an animated skeleton can.
 *
 * @param {import('meshmap/three').MeshmapObject} object
 */
export function nothingToDraw(object) {
    const { info } = object.file;
    if (hasVertices(object) || object.animations.length > 0) return '';
    /** The most sentences about parts that cannot be used. */
    const MOST = 3;
    const remarks = (object.scene?.remarks ?? []).slice(0, MOST).map((remark) => ` ${remark}.`).join('');
    const found = [];
    if (info.snapshots) found.push(`${counted(info.snapshots.count, 'snapshot')} without vertices`);
    else if (info.meshCount > 0 && info.blocks.length === 0) found.push(counted(info.meshCount, 'mesh', 'meshes'));
    const joints = object.skeleton?.bones.length ?? info.jointCount;
    if (joints > 0) found.push(counted(joints, 'joint'));
    if (info.anims.length > 0) found.push(counted(info.anims.length, 'animation'));
    if (info.blocks.length > 0) found.push(`${info.blocks.length === 1 ? 'the block' : 'the blocks'} ${list.format(info.blocks)}`);
    if (found.length === 0) return 'Nothing to draw: the file contains no meshes.';
    const picture = object.skeleton ? ' The picture shows the joints.' : '';
    return `No mesh to draw: the file contains ${list.format(found)}.${picture}${remarks}`;
}
