import {
    AnimationClip, Bone, Matrix4, PropertyBinding, Quaternion, QuaternionKeyframeTrack, Skeleton, SkinnedMesh, VectorKeyframeTrack,
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
 * The joints of an IQM file.
 *
 * @param {Awaited<ReturnType<import('./index.js').MeshmapFile['joints']>>} joints
 * @returns {Rig}
 */
export function rigOfJoints(joints) {
    const bones = named(joints.map(({ name }) => name));
    joints.forEach(({ translate, rotate, scale }, index) => {
        const bone = bones[index];
        bone.position.fromArray(translate);
        bone.quaternion.fromArray(rotate).normalize();
        bone.scale.fromArray(scale);
    });
    const roots = nest(bones, joints.map(({ parent }) => parent));
    roots.forEach((root) => root.updateMatrixWorld(true));
    const inverses = bones.map((bone) => new Matrix4().copy(bone.matrixWorld).invert());
    return { roots, bones, skeleton: new Skeleton(bones, inverses), resting: null };
}

/**
 * The joints of a Second Life mesh; null without matrices for all joints, as in the viewer.
 *
 * @param {import('./index.js').Skin} skin
 * @returns {Rig | null}
 */
export function rigOfSkin({ jointNames, jointParents, bindPose }) {
    if (!bindPose) return null;
    const bones = named(jointNames);
    bones.forEach((bone, index) => {
        new Matrix4().fromArray(bindPose.local, index * 16).decompose(bone.position, bone.quaternion, bone.scale);
    });
    const inverses = bones.map((_, index) => new Matrix4().fromArray(bindPose.inverse, index * 16));
    return { roots: nest(bones, jointParents), bones, skeleton: new Skeleton(bones, inverses), resting: null };
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
 * Returns `true` if frames are relative to the parents of the bones. Otherwise their numbers would move the bones to wrong places.
 *
 * @param {Bone[]} bones
 * @param {(number | null)[]} poseParents
 */
export function areParents(bones, poseParents) {
    return bones.every(({ parent }, index) => {
        const poseParent = poseParents[index];
        // A root is below an object that is not a bone.
        if (poseParent === null) return !(parent instanceof Bone);
        return parent === bones[poseParent];
    });
}

/**
 * The frames of an animation as a clip.
 *
 * @param {string} name
 * @param {Bone[]} bones
 * @param {{ frameCount: number, values: Float32Array, rate: number, isLoop: boolean }} frames
 */
export function clipOf(name, bones, { frameCount, values, rate, isLoop }) {
    // A looping animation continues from its last frame to its first.
    const frames = isLoop && frameCount > 1 ? frameCount + 1 : frameCount;
    const times = Float32Array.from({ length: frames }, (_, frame) => frame / rate);
    const column = (/** @type {number} */ bone, /** @type {number} */ first, /** @type {number} */ size) => {
        const out = new Float32Array(frames * size);
        for (let frame = 0; frame < frames; frame += 1) {
            const at = ((frame % frameCount) * bones.length + bone) * 10 + first;
            out.set(values.subarray(at, at + size), frame * size);
        }
        return out;
    };
    const quaternion = new Quaternion();
    const tracks = frameCount === 0 ? [] : bones.flatMap((bone, index) => {
        const rotations = column(index, 3, 4);
        for (let i = 0; i < rotations.length; i += 4) quaternion.fromArray(rotations, i).normalize().toArray(rotations, i);
        return [
            new VectorKeyframeTrack(`${bone.name}.position`, times, column(index, 0, 3)),
            new QuaternionKeyframeTrack(`${bone.name}.quaternion`, times, rotations),
            new VectorKeyframeTrack(`${bone.name}.scale`, times, column(index, 7, 3)),
        ];
    });
    return new AnimationClip(name, -1, tracks);
}
