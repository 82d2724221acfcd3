import {
    AnimationClip, Bone, Matrix4, PropertyBinding, QuaternionKeyframeTrack, Skeleton, SkinnedMesh, VectorKeyframeTrack,
} from 'three';

/**
 * The joints of a file in the bind pose.
 *
 * @typedef {object} Rig
 * @property {Bone[]} roots The joints without a parent.
 * @property {Bone[]} bones All joints, in the order of the file.
 * @property {Skeleton} skeleton
 * @property {Skeleton | null} resting The skeleton of meshes that have vertices without weights: with one more joint, a root that
 *     nothing moves; null if there are no such meshes.
 */

/**
 * The joints of a scene as bones.
 *
 * @param {import('./index.js').Skeleton} skeleton
 * @returns {Rig}
 */
export function rigOf({ joints, inverseBind }) {
    const bones = named(joints.map(({ name }) => name));
    joints.forEach(({ rest }, index) => {
        const { position, quaternion, scale } = bones[index];
        if ('matrix' in rest) {
            new Matrix4().fromArray(rest.matrix).decompose(position, quaternion, scale);
        } else {
            position.fromArray(rest.translate);
            quaternion.fromArray(rest.rotate);
            scale.fromArray(rest.scale);
        }
    });
    const roots = nest(bones, joints.map(({ parent }) => parent));
    // Bounds may be asked for before the first picture, which updates these matrices.
    roots.forEach((root) => root.updateMatrixWorld(true));
    const inverses = bones.map((_, index) => new Matrix4().fromArray(inverseBind, index * 16));
    return { roots, bones, skeleton: new Skeleton(bones, inverses), resting: null };
}

/**
 * Bones with names that tracks of animations can refer to: plain, and each only once.
 *
 * @param {string[]} names
 */
function named(names) {
    /** @type {Set<string>} */
    const taken = new Set();
    return names.map((name, index) => {
        const bone = new Bone();
        const plain = PropertyBinding.sanitizeNodeName(name) || 'joint';
        bone.name = taken.has(plain) ? `${plain}_${index}` : plain;
        taken.add(bone.name);
        return bone;
    });
}

/**
 * Adds bones to their parents; returns the bones without a parent.
 *
 * @param {Bone[]} bones
 * @param {(number | null)[]} parents
 */
function nest(bones, parents) {
    return bones.filter((bone, index) => {
        const parent = parents[index];
        if (parent !== null) bones[parent].add(bone);
        return parent === null;
    });
}

/**
 * The skeleton for a mesh with vertices that no joint moves: they follow one more joint, which rests.
 *
 * @param {Rig} rig
 */
function restingSkeleton(rig) {
    if (!rig.resting) {
        const rest = new Bone();
        rest.name = 'meshmap_rest';
        rig.roots.push(rest);
        rig.resting = new Skeleton([...rig.bones, rest], [...rig.skeleton.boneInverses, new Matrix4()]);
    }
    return rig.resting;
}

/**
 * A copy of the joints for a copy of the objects, and a function that returns the copy of a skeleton.
 *
 * @param {Rig} rig
 * @param {(bone: Bone) => Bone} copyOf Returns the copy of a bone.
 */
export function copyOfRig(rig, copyOf) {
    /** @type {Map<Skeleton, Skeleton>} */
    const copies = new Map();
    const skeletonOf = (/** @type {Skeleton} */ skeleton) => {
        const copy = copies.get(skeleton) ?? new Skeleton(skeleton.bones.map(copyOf), [...skeleton.boneInverses]);
        copies.set(skeleton, copy);
        return copy;
    };
    const [roots, bones] = [rig.roots.map(copyOf), rig.bones.map(copyOf)];
    /** @type {Rig} */
    const copy = { ...rig, roots, bones, skeleton: skeletonOf(rig.skeleton), resting: rig.resting && skeletonOf(rig.resting) };
    return { copy, skeletonOf };
}

/**
 * A mesh that the bones move.
 *
 * @param {import('three').BufferGeometry} geometry
 * @param {import('three').Material | import('three').Material[]} material
 * @param {Rig} rig
 * @param {number} resting The number of vertices that no joint moves.
 */
export function skinnedMesh(geometry, material, rig, resting) {
    const skinned = new SkinnedMesh(geometry, material);
    skinned.bind(resting > 0 ? restingSkeleton(rig) : rig.skeleton, new Matrix4());
    // Bones move vertices out of any bounding box that is known here.
    skinned.frustumCulled = false;
    return skinned;
}

/**
 * A clip of a scene as a clip of three.js.
 *
 * @param {string} name
 * @param {Bone[]} bones
 * @param {import('./index.js').Clip} clip
 * @param {import('./index.js').Keys} keys
 */
export function clipOf(name, bones, { repeats }, { times, translations, rotations, scales, events }) {
    const tracks = bones.flatMap((bone, joint) => {
        const part = (/** @type {Float32Array} */ values, /** @type {number} */ size) => {
            return values.subarray(joint * times.length * size, (joint + 1) * times.length * size);
        };
        return [
            new VectorKeyframeTrack(`${bone.name}.position`, times, part(translations, 3)),
            new QuaternionKeyframeTrack(`${bone.name}.quaternion`, times, part(rotations, 4)),
            new VectorKeyframeTrack(`${bone.name}.scale`, times, part(scales, 3)),
        ];
    });
    const clip = new AnimationClip(name, -1, tracks);
    clip.userData.meshmap = { repeats, events };
    return clip;
}
