import {
    AnimationClip, Bone, BufferAttribute, BufferGeometry, Color, DoubleSide, Float16BufferAttribute, Group, Loader, LoaderUtils,
    Matrix4, Mesh, MeshStandardMaterial, Points, PointsMaterial, PropertyBinding, Quaternion, QuaternionKeyframeTrack,
    Skeleton, SkinnedMesh, Sphere, Box3, Vector3, VectorKeyframeTrack,
} from 'three';
import { MeshmapError, open } from './index.js';

/**
 * Options of the loader.
 *
 * @typedef {object} OwnLoaderOptions
 * @property {string | number} [level] Second Life: the level of detail that is shown first, by name or number; 0, the finest.
 * @property {number} [snapshot] CGeo: the snapshot that is shown first; 0.
 * @property {number} [ahead] CGeo: the number of snapshots that are read ahead while snapshots are shown at equal steps; 6. Each needs
 *     at most 24 bytes per vertex.
 * @property {boolean} [yUp] Rotates files whose format has Z up; true.
 * @property {boolean} [keepWinding] Keeps clockwise triangles; false. If a mesh has normals, they determine
 *     the winding; otherwise the format does, if it specifies the winding.
 * @property {boolean} [quantized] Second Life: positions stay normalized integers, and the matrix of the mesh converts them to
 *     lengths; true.
 * @property {boolean} [anims] IQM: reads animations; true.
 * @property {number} [maxMeshes] Maximum number of meshes that are shown; 4,096.
 * @property {(mesh: import('./index.js').Mesh, material: number) => import('three').Material} [material] Makes the material of
 *     the triangles with a number.
 *
 * @typedef {import('./index.js').OpenOptions & OwnLoaderOptions} LoaderOptions
 * @typedef {import('./index.js').MeshmapFile} MeshmapFile
 */

/**
 * Loads files of any of the formats. The result is a {@link MeshmapObject}.
 *
 * @extends {Loader<MeshmapObject>}
 */
export class MeshmapLoader extends Loader {
    /** @param {import('three').LoadingManager} [manager] */
    constructor(manager) {
        super(manager);
        /** @type {LoaderOptions} */
        this.options = {};
    }

    /**
     * Sets options; others stay.
     *
     * @param {LoaderOptions} options
     */
    setOptions(options) {
        Object.assign(this.options, options);
        return this;
    }

    /**
     * Loads a file by ranges.
     *
     * @param {string} url
     * @param {(object: MeshmapObject) => void} [onLoad]
     * @param {(event: ProgressEvent) => void} [onProgress]
     * @param {(error: unknown) => void} [onError]
     */
    load(url, onLoad, onProgress, onError) {
        const address = this.manager.resolveURL(LoaderUtils.resolveURL(url, this.path));
        const { request, onProgress: onStats, ...options } = this.options;
        const headers = { ...this.requestHeader, ...(request?.headers ? Object.fromEntries(new Headers(request.headers)) : {}) };
        /** @type {RequestInit} */
        const all = { ...request, headers };
        if (this.withCredentials) all.credentials = 'include';
        this.manager.itemStart(url);
        /** @type {LoaderOptions} */
        const source = { ...options, request: all };
        if (onProgress || onStats) {
            source.onProgress = (stats) => {
                onStats?.(stats);
                const { bytes: loaded, length } = stats;
                onProgress?.(new ProgressEvent('progress', { lengthComputable: length !== null, loaded, total: length ?? 0 }));
            };
        }
        MeshmapObject.open(address, source).then((object) => {
            onLoad?.(object);
            this.manager.itemEnd(url);
        }, (error) => {
            if (onError) onError(error);
            else console.error(error);
            this.manager.itemError(url);
            this.manager.itemEnd(url);
        });
    }

    /**
     * Reads bytes, or a file of the reader's disk.
     *
     * @param {ArrayBuffer | ArrayBufferView | Blob} data
     * @param {(object: MeshmapObject) => void} [onLoad]
     * @param {(error: unknown) => void} [onError]
     */
    parse(data, onLoad, onError) {
        this.parseAsync(data).then((object) => onLoad?.(object), onError ?? console.error);
    }

    /**
     * Reads bytes, or a file of the reader's disk.
     *
     * @param {ArrayBuffer | ArrayBufferView | Blob} data
     * @returns {Promise<MeshmapObject>}
     */
    parseAsync(data) {
        return MeshmapObject.open(data, this.options);
    }
}

/** A file as a group of meshes. Parts that are not shown yet are fetched on request. */
export class MeshmapObject extends Group {
    /** @type {number | null} */
    #wanted = null;
    /** @type {Promise<void> | null} */
    #following = null;
    /** The snapshot whose mesh is loaded. */
    #base = 0;
    /** The difference between the last two snapshots that were shown. */
    #step = 0;
    /** Snapshots that are read, or wait to be shown. @type {Map<number, { moment: ReturnType<MeshmapFile['moment']>, abort: AbortController }>} */
    #ahead = new Map();
    /** @type {LoaderOptions} */
    #options;

    /**
     * @param {import('./index.js').MeshmapFile} file
     * @param {LoaderOptions} options
     */
    constructor(file, options) {
        super();
        this.file = file;
        this.#options = options;
        this.name = file.info.name ?? '';
        /** @type {AnimationClip[]} */
        this.animations = [];
        /** The errors of parts that cannot be read; the other parts are shown. @type {MeshmapError[]} */
        this.errors = [];
        /** The level of detail that is shown. @type {string | null} */
        this.level = null;
        /** The snapshot that is shown. @type {number | null} */
        this.snapshot = null;
        /** The number of meshes of the file, or of the level. */
        this.meshCount = 0;
        this.userData.meshmap = file.info;
        if (options.yUp !== false && file.info.conventions.up === 'z') this.rotation.x = -Math.PI / 2;
    }

    /**
     * Opens a file, and shows the same parts as viewers: the finest level of detail, the first snapshot.
     *
     * @param {Parameters<typeof open>[0]} source
     * @param {LoaderOptions} [options]
     */
    static async open(source, options = {}) {
        const object = new MeshmapObject(await open(source, options), options);
        try {
            const { levels, snapshots } = object.file.info;
            if (snapshots) await object.setSnapshot(options.snapshot ?? 0);
            else if (levels.length > 0) await object.setLevel(options.level ?? 0);
            else await object.#readAll();
        } catch (error) {
            object.dispose();
            throw Object.assign(/** @type {Error} */ (error), { stats: object.file.stats });
        }
        return object;
    }

    /** Statistics of the fetches so far. */
    get stats() {
        return this.file.stats;
    }

    /**
     * Shows a level of detail of a Second Life mesh.
     *
     * @param {string | number} level Its name, or its number: 0 is the finest.
     */
    async setLevel(level) {
        const levels = this.file.info.levels;
        const name = typeof level === 'string' ? level : (levels.find((found) => found.level === level) ?? levels[0])?.name;
        if (name === undefined) throw new MeshmapError('out_of_range', 'the file has no levels of detail');
        await this.#show(await this.#meshes({ level: name }));
        this.level = name;
    }

    /**
     * Shows a snapshot of CGeo. If several snapshots are requested while another one is read, the last is shown.
     *
     * @param {number} index
     */
    setSnapshot(index) {
        this.#wanted = index;
        this.#following ??= this.#follow().finally(() => {
            this.#following = null;
        });
        return this.#following;
    }

    /**
     * Shows the snapshot that is nearest to a time.
     *
     * @param {number} seconds
     */
    setTime(seconds) {
        const { count, start, step } = this.file.info.snapshots ?? { count: 0, start: null, step: null };
        const at = step ? Math.round((seconds - (start ?? 0)) / step) : 0;
        return this.setSnapshot(Math.max(0, Math.min(count - 1, at)));
    }

    async #follow() {
        while (this.#wanted !== null && this.#wanted !== this.snapshot) {
            const index = this.#wanted;
            try {
                await this.#moment(index);
            } catch (error) {
                this.#wanted = this.snapshot;
                throw error;
            }
            this.snapshot = index;
        }
    }

    /** @param {number} index */
    async #moment(index) {
        const mesh = /** @type {Mesh<BufferGeometry> | undefined} */ (this.children[0]);
        const moment = mesh && await this.#read(index);
        const position = mesh?.geometry.getAttribute('position');
        if (!moment || moment.positions.length !== position?.array.length) {
            this.#keepAhead([]);
            await this.#show([await this.#mesh(`snapshots[${index}]`)]);
            this.#base = index;
            return;
        }
        const { geometry, userData } = /** @type {Mesh<BufferGeometry>} */ (mesh);
        Object.assign(userData.meshmap, { address: `snapshots[${index}]`, role: { kind: 'snapshot', index, seconds: moment.seconds } });
        position.array.set(moment.positions);
        position.needsUpdate = true;
        const normal = geometry.getAttribute('normal');
        if (moment.normals && normal) {
            normal.array.set(moment.normals);
            normal.needsUpdate = true;
        }
        setBounds(geometry, boundsOf(moment.positions));
    }

    /**
     * Reads the positions and normals of a snapshot. If it is as far from the shown one as that was from the one before, the next
     * snapshots are read meanwhile; after the last snapshot comes the first.
     *
     * @param {number} index
     */
    #read(index) {
        const { count } = this.file.info.snapshots ?? { count: 1 };
        const step = (index - (this.snapshot ?? index) + count) % count;
        const ahead = step > 0 && step === this.#step ? this.#options.ahead ?? 6 : 0;
        this.#step = step;
        const next = Array.from({ length: Math.min(ahead, count - 1) }, (_, number) => (index + (number + 1) * step) % count);
        const wanted = [index, ...next];
        this.#keepAhead(wanted);
        for (const index of wanted) {
            if (this.#ahead.has(index)) continue;
            const abort = new AbortController();
            const moment = this.file.moment(this.#base, index, { signal: abort.signal });
            // The call that shows the snapshot reports its error.
            moment.catch(() => {});
            this.#ahead.set(index, { moment, abort });
        }
        const { moment } = /** @type {{ moment: ReturnType<MeshmapFile['moment']> }} */ (this.#ahead.get(index));
        this.#ahead.delete(index);
        return moment;
    }

    /**
     * Drops the snapshots that were read ahead, except the wanted ones.
     *
     * @param {number[]} wanted
     */
    #keepAhead(wanted) {
        for (const [index, { abort }] of this.#ahead) {
            if (wanted.includes(index)) continue;
            abort.abort();
            this.#ahead.delete(index);
        }
    }

    async #readAll() {
        const bones = this.file.info.jointCount > 0 ? await this.#bones() : null;
        await this.#show(await this.#meshes({}), bones);
        if (bones && this.#options.anims !== false) await this.#clips(bones.list);
        // Everything is there.
        this.file.close();
    }

    /**
     * Returns the meshes of a list, and separately their errors.
     *
     * @param {{ level?: string }} options
     */
    async #meshes(options) {
        const { total, entries } = await this.file.meshes({ ...options, end: this.#options.maxMeshes ?? 4096 });
        this.meshCount = total;
        const meshes = [];
        this.errors = [];
        for (const { address } of entries) {
            try {
                meshes.push(await this.#mesh(address));
            } catch (error) {
                const isOfThePart = error instanceof MeshmapError && !['network', 'response', 'changed', 'crash'].includes(error.kind);
                if (!isOfThePart) throw error;
                this.errors.push(error);
            }
        }
        if (meshes.length === 0 && this.errors.length > 0) throw this.errors[0];
        return meshes;
    }

    /** @param {string} address */
    async #mesh(address) {
        const { quantized = true, signal } = this.#options;
        const options = { quantized, byMaterial: true, signal };
        const mesh = await this.file.mesh(address, options);
        const dequant = mesh.attributes.position?.dequant;
        // A matrix that flattens or mirrors everything is not suitable for normals.
        const isPlain = dequant?.scale.slice(0, 3).every((scale) => scale > 0 && Number.isFinite(scale)) ?? true;
        return isPlain ? mesh : this.file.mesh(address, { ...options, quantized: false });
    }

    /**
     * Replaces the shown meshes.
     *
     * @param {import('./index.js').Mesh[]} meshes
     * @param {Bones | null} [bones]
     */
    async #show(meshes, bones = null) {
        this.#clear();
        // Before the meshes, because animations find the first object with a name.
        if (bones) this.add(...bones.roots);
        const isClockwise = this.file.info.conventions.frontFace === 'clockwise';
        const hue = meshes.length > 1 ? 1 / meshes.length : 0;
        meshes.forEach((mesh, number) => this.add(objectOf(mesh, { bones, isClockwise, hue: number * hue, ...this.#options })));
    }

    #clear() {
        for (const child of [...this.children]) {
            const { geometry, material } = /** @type {Mesh} */ (child);
            geometry?.dispose();
            for (const one of [material ?? []].flat()) one.dispose();
            this.remove(child);
        }
    }

    async #bones() {
        const joints = await this.file.joints({ signal: this.#options.signal });
        /** @type {Set<string>} */
        const taken = new Set();
        const list = joints.map(({ name, translate, rotate, scale }, index) => {
            const bone = new Bone();
            const plain = PropertyBinding.sanitizeNodeName(name) || 'joint';
            bone.name = taken.has(plain) ? `${plain}_${index}` : plain;
            taken.add(bone.name);
            bone.position.fromArray(translate);
            bone.quaternion.fromArray(rotate).normalize();
            bone.scale.fromArray(scale);
            return bone;
        });
        const roots = list.filter((bone, index) => {
            const { parent } = joints[index];
            if (parent !== null) list[parent].add(bone);
            return parent === null;
        });
        roots.forEach((root) => root.updateMatrixWorld(true));
        const inverses = list.map((bone) => new Matrix4().copy(bone.matrixWorld).invert());
        return { roots, list, skeleton: new Skeleton(list, inverses) };
    }

    /** @param {Bone[]} bones */
    async #clips(bones) {
        const { anims } = this.file.info;
        for (const [index, { name, framerate, isLoop }] of anims.entries()) {
            try {
                const { frameCount, poseCount, values } = await this.file.frames(index, { signal: this.#options.signal });
                if (poseCount !== bones.length) throw new MeshmapError('mismatch', `${poseCount} poses for ${bones.length} joints`);
                const clip = clipOf(name || `anim ${index}`, bones, { frameCount, values, rate: framerate > 0 ? framerate : 30, isLoop });
                this.animations.push(clip);
            } catch (error) {
                if (!(error instanceof MeshmapError) || error.kind === 'crash') throw error;
                this.errors.push(error);
            }
        }
    }

    /** Releases the memory of the meshes and the file. */
    dispose() {
        this.#keepAhead([]);
        this.#clear();
        this.file.close();
    }
}

/** @typedef {{ roots: Bone[], list: Bone[], skeleton: Skeleton }} Bones */

/** Names of attributes in three.js. */
const NAMES = new Map([
    ['position', 'position'], ['normal', 'normal'], ['tangent', 'tangent'], ['color', 'color'], ['texcoord', 'uv'],
    ['texcoord[1]', 'uv1'], ['texcoord[2]', 'uv2'], ['texcoord[3]', 'uv3'], ['joints', 'skinIndex'], ['weights', 'skinWeight'],
]);

/**
 * A mesh as an object of three.js; a point cloud if it has no triangles.
 *
 * @param {import('./index.js').Mesh} mesh
 * @param {{ bones: Bones | null, isClockwise: boolean, hue: number } & LoaderOptions} options
 */
function objectOf(mesh, { bones, isClockwise, hue, keepWinding = false, material: make = materialOf(hue) }) {
    const geometry = new BufferGeometry();
    const dequant = mesh.attributes.position?.dequant;
    for (const [semantic, attribute] of Object.entries(mesh.attributes)) {
        const name = NAMES.get(semantic);
        // Shaders take other attributes by the names that glTF gives them.
        const own = name ?? `_${semantic.toLowerCase().replace(/\W+/g, '_')}`;
        geometry.setAttribute(own, attributeOf(attribute, name !== undefined));
    }
    const normal = geometry.getAttribute('normal');
    const { indices } = mesh;
    if (!keepWinding && (normal ? runsAgainst(geometry, indices, dequant?.scale) : isClockwise)) {
        for (let i = 0; i + 2 < indices.length; i += 3) [indices[i + 1], indices[i + 2]] = [indices[i + 2], indices[i + 1]];
    }
    if (dequant && normal) {
        // The matrix of the mesh transforms normals by its inverse; the normals are prepared for this.
        const [x, y, z] = dequant.scale;
        for (let i = 0; i < normal.count; i += 1) normal.setXYZ(i, normal.getX(i) * x, normal.getY(i) * y, normal.getZ(i) * z);
    }
    if (dequant) {
        geometry.computeBoundingBox();
        geometry.computeBoundingSphere();
    } else {
        setBounds(geometry, mesh.bounds);
    }
    if (mesh.triangleCount === 0) {
        const points = new Points(geometry, new PointsMaterial({ size: 3, sizeAttenuation: false, vertexColors: geometry.hasAttribute('color') }));
        return place(points, mesh, dequant);
    }
    geometry.setIndex(new BufferAttribute(indices, 1));
    const materials = [];
    for (let i = 0; i < mesh.groups.length; i += 3) {
        const [number, start, count] = mesh.groups.subarray(i, i + 3);
        geometry.addGroup(start, count, materials.length);
        materials.push(make(mesh, number));
    }
    if (materials.length === 1) geometry.clearGroups();
    const material = materials.length === 1 ? materials[0] : materials;
    if (bones && isBoundTo(geometry, bones)) {
        const skinned = new SkinnedMesh(geometry, material);
        skinned.bind(bones.skeleton, new Matrix4());
        // Bones move vertices out of any bounding box that is known here.
        skinned.frustumCulled = false;
        return place(skinned, mesh, dequant);
    }
    return place(new Mesh(geometry, material), mesh, dequant);
}

/**
 * @template {import('three').Object3D} T
 * @param {T} object
 * @param {import('./index.js').Mesh} mesh
 * @param {{ scale: number[], offset: number[] } | null | undefined} dequant
 */
function place(object, mesh, dequant) {
    object.name = mesh.name || mesh.address;
    const { address, material, role, findings } = mesh;
    object.userData.meshmap = { address, material, role, findings };
    if (dequant) {
        object.scale.fromArray(dequant.scale);
        object.position.fromArray(dequant.offset);
    }
    return object;
}

/**
 * Returns `true` if most triangles run clockwise around their normals, in a sample of some thousand triangles.
 *
 * @param {BufferGeometry} geometry
 * @param {Uint16Array | Uint32Array} indices
 * @param {number[]} [scale] The factors that convert positions to lengths.
 */
function runsAgainst(geometry, indices, scale = [1, 1, 1]) {
    const [position, normal] = [geometry.getAttribute('position'), geometry.getAttribute('normal')];
    const by = new Vector3().fromArray(scale);
    const [a, b, c, n] = [new Vector3(), new Vector3(), new Vector3(), new Vector3()];
    const step = Math.max(1, Math.floor(indices.length / 3 / 4096)) * 3;
    let votes = 0;
    for (let i = 0; i + 2 < indices.length; i += step) {
        a.fromBufferAttribute(position, indices[i]);
        b.fromBufferAttribute(position, indices[i + 1]).sub(a).multiply(by);
        c.fromBufferAttribute(position, indices[i + 2]).sub(a).multiply(by);
        const dot = b.cross(c).dot(n.fromBufferAttribute(normal, indices[i]));
        votes += dot > 0 ? 1 : dot < 0 ? -1 : 0;
    }
    return votes < 0;
}

/**
 * Returns `true` if every vertex refers only to bones that exist.
 *
 * @param {BufferGeometry} geometry
 * @param {Bones} bones
 */
function isBoundTo(geometry, bones) {
    const joints = geometry.getAttribute('skinIndex');
    if (!joints || !geometry.hasAttribute('skinWeight') || joints.itemSize !== 4) return false;
    return joints.array.every((/** @type {number} */ joint) => joint >= 0 && joint < bones.list.length);
}

/**
 * @param {import('./index.js').Attribute} attribute
 * @param {boolean} isShaded `true` if shaders of three.js use it, as floats.
 */
function attributeOf({ array, itemSize, type, normalized }, isShaded) {
    if (type === 'f16') return new Float16BufferAttribute(/** @type {Uint16Array} */ (array), itemSize);
    // Integers of 32 bits would go to shaders as such.
    const isWide = isShaded && (type === 'u32' || type === 'i32');
    return new BufferAttribute(isWide ? Float32Array.from(array) : array, itemSize, normalized);
}

/**
 * The default materials.
 *
 * @param {number} hue
 * @returns {NonNullable<LoaderOptions['material']>}
 */
const materialOf = (hue) => (mesh, number) => new MeshStandardMaterial({
    color: new Color().setHSL((hue + number * 0.381966) % 1, hue || number ? 0.35 : 0, mesh.attributes.color ? 1 : 0.62),
    side: DoubleSide,
    roughness: 0.75,
    vertexColors: mesh.attributes.color !== undefined,
    flatShading: mesh.attributes.normal === undefined,
});

/**
 * @param {BufferGeometry} geometry
 * @param {{ min: number[], max: number[] } | null} bounds
 */
function setBounds(geometry, bounds) {
    const box = new Box3();
    if (bounds) box.set(new Vector3().fromArray(bounds.min), new Vector3().fromArray(bounds.max));
    geometry.boundingBox = box;
    geometry.boundingSphere = box.isEmpty() ? new Sphere() : box.getBoundingSphere(new Sphere());
}

/**
 * The bounding box of the finite points.
 *
 * @param {Float32Array} points
 */
function boundsOf(points) {
    const min = [Infinity, Infinity, Infinity];
    const max = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < points.length; i += 3) {
        if (!Number.isFinite(points[i] + points[i + 1] + points[i + 2])) continue;
        for (let axis = 0; axis < 3; axis += 1) {
            min[axis] = Math.min(min[axis], points[i + axis]);
            max[axis] = Math.max(max[axis], points[i + axis]);
        }
    }
    return min[0] <= max[0] ? { min, max } : null;
}

/**
 * @param {string} name
 * @param {Bone[]} bones
 * @param {{ frameCount: number, values: Float32Array, rate: number, isLoop: boolean }} frames
 */
function clipOf(name, bones, { frameCount, values, rate, isLoop }) {
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

export { MeshmapError };
