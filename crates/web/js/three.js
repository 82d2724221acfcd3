import { Group, Loader, LoaderUtils } from 'three';
import { boundsOf, objectOf, setBounds } from './geometry.js';
import { MeshmapError, open } from './index.js';
import { Playback, mix } from './playback.js';
import { areParents, clipOf, copyOfRig, rigOfJoints, rigOfSkin } from './rig.js';
import { Textures } from './textures.js';

/**
 * Options of the loader.
 *
 * @typedef {object} OwnLoaderOptions
 * @property {string | number} [level] Second Life: the level of detail that is shown first, by name or number; 0, the finest.
 * @property {number} [snapshot] CGeo: the snapshot that is shown first; 0.
 * @property {number} [ahead] CGeo: the number of snapshots that are read ahead while snapshots are shown at equal steps; 6. Each needs
 *     at most 24 bytes per vertex.
 * @property {boolean} [interpolate] CGeo: shows positions between two snapshots; true.
 * @property {boolean} [skin] Second Life: reads the skin, so that meshes become skinned meshes; true.
 * @property {boolean} [yUp] Rotates files whose `usualUp` is Z; true.
 * @property {number} [metresPerUnit] The length of one unit of the file in metres, which is the scale of the object; by default the unit that
 *     a CGeo file stores, else 1. With 1, the object has the numbers of the file.
 * @property {boolean} [keepWinding] Keeps clockwise triangles; false. If a mesh has normals, they determine
 *     the winding; otherwise the format does, if it specifies the winding.
 * @property {boolean} [quantized] Second Life: positions stay normalized integers, and the matrix of the mesh converts them to
 *     lengths; true. Meshes with a skin always have floats.
 * @property {boolean} [anims] IQM: reads animations; true.
 * @property {boolean | string} [textures] IQM, OpenCTM: shows the images that the file names, if they are in its folder; true. A URL ends with
 *     a slash, and is of the folder to look in. Files that are not read from a URL have no folder.
 * @property {import('three').LoadingManager} [manager] Loads these images.
 * @property {number} [maxMeshes] Maximum number of meshes that are shown; 4,096.
 * @property {(mesh: import('./index.js').Mesh, material: number) => import('three').Material} [material] Makes the material of
 *     the triangles with a number.
 *
 * @typedef {import('./index.js').OpenOptions & OwnLoaderOptions} LoaderOptions
 * @typedef {import('./index.js').MeshmapFile} MeshmapFile
 * @typedef {import('three').Mesh<import('three').BufferGeometry>} ProxyMesh
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
        const source = { manager: this.manager, ...options, request: all };
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
    /** @type {Playback} */
    #playback;
    /** The joints; null if the file has none, `undefined` before they are read. @type {import('./rig.js').Rig | null | undefined} */
    #rig;
    /** `true` if vertices with weights rest in the bind shape of a skin, whose joints cannot be used. */
    #isBound = false;
    /** @type {MeshmapError[]} */
    #skinErrors = [];
    /** @type {LoaderOptions} */
    #options;
    /** @type {Textures} */
    #textures;
    /** `true` if another object closes the file. */
    #isCopy = false;

    /**
     * @param {import('./index.js').MeshmapFile} [file] Always there, except in `clone`, which copies it from the other object.
     * @param {LoaderOptions} [options]
     * @param {string | null} [base] The address to which the names of images are relative.
     */
    constructor(file, options = {}, base = null) {
        super();
        this.file = /** @type {import('./index.js').MeshmapFile} */ (file);
        this.#options = options;
        this.#playback = new Playback(this.file, options.ahead ?? 6);
        this.#textures = new Textures(base, file?.info.conventions.vOrigin === 'top', options.manager);
        /** @type {import('three').AnimationClip[]} */
        this.animations = [];
        /** The errors of parts that cannot be read; the other parts are shown. @type {MeshmapError[]} */
        this.errors = [];
        /** The level of detail that is shown. @type {string | null} */
        this.level = null;
        /** The snapshot that is shown; a fraction between two snapshots. @type {number | null} */
        this.snapshot = null;
        /** The number of meshes of the file, or of the level. */
        this.meshCount = 0;
        if (!file) return;
        this.name = file.info.name ?? '';
        this.userData.meshmap = file.info;
        this.scale.setScalar(options.metresPerUnit ?? file.info.metresPerUnit ?? 1);
        if (options.yUp !== false && file.info.conventions.usualUp === 'z') this.rotation.x = -Math.PI / 2;
    }

    /**
     * Opens a file, and shows the same parts as viewers: the finest level of detail, the first snapshot.
     *
     * @param {Parameters<typeof open>[0]} source
     * @param {LoaderOptions} [options]
     */
    static async open(source, options = {}) {
        // A worker cannot receive these.
        const { material, manager, ...settings } = options;
        const object = new MeshmapObject(await open(source, settings), options, folderOf(source, options));
        try {
            const { levels, snapshots } = object.file.info;
            if (snapshots) await object.setSnapshot(options.snapshot ?? 0);
            else if (levels.length > 0) await object.setLevel(options.level ?? 0);
            else await object.#readAll();
        } catch (error) {
            object.dispose();
            if (error instanceof MeshmapError) error.stats = object.file.stats;
            throw error;
        }
        return object;
    }

    /**
     * Copies another object, as `clone` does. The copy has separate joints, and shows levels of detail and snapshots independently; meshes
     * share geometry and materials, except that a copy of a snapshot has a separate geometry. The other object closes the file.
     *
     * @param {MeshmapObject} source
     * @param {boolean} [recursive]
     */
    copy(source, recursive = true) {
        super.copy(source, recursive);
        this.file = source.file;
        this.#options = source.#options;
        this.#playback = source.#playback.clone();
        this.#isBound = source.#isBound;
        this.#skinErrors = source.#skinErrors;
        this.#textures = source.#textures;
        this.#isCopy = true;
        // A copy without children shows nothing, and reads joints with its first level of detail.
        if (!recursive) return this;
        this.errors = [...source.errors];
        this.level = source.level;
        this.snapshot = source.snapshot;
        this.meshCount = source.meshCount;
        if (source.#rig) this.#copyRig(source, source.#rig);
        else this.#rig = source.#rig;
        const mesh = this.file.info.snapshots ? this.#proxy : undefined;
        if (mesh) mesh.geometry = mesh.geometry.clone();
        return this;
    }

    /**
     * Binds the copied meshes to the copied joints.
     *
     * @param {MeshmapObject} source
     * @param {import('./rig.js').Rig} rig
     */
    #copyRig(source, rig) {
        /** @type {Map<import('three').Object3D, import('three').Object3D>} */
        const copies = new Map();
        const pair = (/** @type {import('three').Object3D} */ from, /** @type {import('three').Object3D} */ to) => {
            copies.set(from, to);
            from.children.forEach((child, index) => pair(child, to.children[index]));
        };
        pair(source, this);
        const { copy, skeletonOf } = copyOfRig(rig, (bone) => /** @type {import('three').Bone} */ (copies.get(bone) ?? bone));
        this.#rig = copy;
        this.traverse((part) => {
            const mesh = /** @type {import('three').SkinnedMesh} */ (part);
            if (mesh.isSkinnedMesh) mesh.skeleton = skeletonOf(mesh.skeleton);
        });
    }

    /** Statistics of the fetches so far. */
    get stats() {
        return this.file.stats;
    }

    /** The skeleton of an IQM file, or of a Second Life mesh with a skin. */
    get skeleton() {
        return this.#rig?.skeleton ?? null;
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
        if (this.#rig === undefined) await this.#readSkin();
        await this.#show(await this.#meshes({ level: name }));
        this.level = name;
    }

    /**
     * Shows a snapshot of CGeo. A number between two snapshots shows positions and normals between them, or the nearest snapshot with
     * the option `interpolate: false`. If several snapshots are requested while another one is read, the last is shown.
     *
     * @param {number} index
     */
    setSnapshot(index) {
        this.#wanted = this.#options.interpolate === false ? Math.round(index) : index;
        this.#following ??= this.#follow().finally(() => {
            this.#following = null;
        });
        return this.#following;
    }

    /**
     * Shows a time: what `setSnapshot` shows for the number of the snapshot at that time.
     *
     * @param {number} seconds
     */
    setTime(seconds) {
        const { count, start, step } = this.file.info.snapshots ?? { count: 0, start: null, step: null };
        const number = step ? (seconds - (start ?? 0)) / step : 0;
        const near = Math.round(number);
        // A snapshot that is reached by adding steps is that snapshot.
        const at = Math.abs(number - near) < 1e-6 ? near : number;
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
        const [from, to] = [Math.floor(index), Math.ceil(index)];
        const playback = this.#playback;
        const fits = (/** @type {import('./playback.js').Moment} */ moment) => {
            const position = this.#proxy?.geometry.getAttribute('position');
            return moment !== null && moment.positions.length === position?.array.length;
        };
        let first = this.#proxy ? await playback.moment(from) : null;
        if (!fits(first)) {
            await this.#show([await this.#mesh(`snapshots[${from}]`)]);
            playback.begin(from);
            if (to === from) return;
            first = await playback.moment(from);
        }
        const second = to === from ? first : await playback.moment(to);
        const mesh = this.#proxy;
        if (!mesh || !first || !fits(first)) return;
        // Triangles that differ change at the next snapshot, not between two.
        this.#write(mesh, index, first, second && fits(second) ? second : first);
    }

    /** The mesh of the snapshot that is shown. */
    get #proxy() {
        return /** @type {ProxyMesh | undefined} */ (this.children[0]);
    }

    /**
     * Writes positions and normals between two snapshots.
     *
     * @param {ProxyMesh} mesh
     * @param {number} index
     * @param {NonNullable<import('./playback.js').Moment>} first
     * @param {NonNullable<import('./playback.js').Moment>} second
     */
    #write({ geometry, userData }, index, first, second) {
        const share = index - Math.floor(index);
        const [start, end] = [first.seconds, second.seconds];
        const seconds = start === null || end === null ? null : start + (end - start) * share;
        Object.assign(userData.meshmap, { address: `snapshots[${Math.floor(index)}]`, role: { kind: 'snapshot', index, seconds } });
        const position = geometry.getAttribute('position');
        mix(position.array, first.positions, second.positions, share);
        position.needsUpdate = true;
        const normal = geometry.getAttribute('normal');
        if (normal && first.normals && second.normals) {
            mix(normal.array, first.normals, second.normals, share);
            normal.needsUpdate = true;
        }
        setBounds(geometry, boundsOf(position.array));
    }

    async #readAll() {
        const { signal, anims } = this.#options;
        if (this.file.info.jointCount > 0) this.#rig = rigOfJoints(await this.file.joints({ signal }));
        else await this.#readSkin();
        await this.#show(await this.#meshes({}));
        if (this.#rig && anims !== false) await this.#clips(this.#rig.bones);
        // Everything is there.
        this.file.close();
    }

    /** Reads the skin of a Second Life mesh, whose geometry is complete without it. */
    async #readSkin() {
        const { signal, skin: isWanted } = this.#options;
        this.#rig = null;
        if (isWanted === false || !this.file.info.blocks.includes('skin')) return;
        try {
            const skin = await this.file.skin({ signal });
            this.#rig = skin && rigOfSkin(skin);
            this.#isBound = skin !== null && !this.#rig;
        } catch (error) {
            this.#skinErrors = [errorOfAPart(error)];
        }
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
        this.errors = [...this.#skinErrors];
        for (const { address } of entries) {
            try {
                meshes.push(await this.#mesh(address));
            } catch (error) {
                this.errors.push(errorOfAPart(error));
            }
        }
        if (meshes.length === 0 && this.errors.length > this.#skinErrors.length) throw this.errors[this.#skinErrors.length];
        return meshes;
    }

    /** @param {string} address */
    async #mesh(address) {
        const { quantized = true, signal } = this.#options;
        // Bones move floats: the matrix of a mesh that they move is the identity.
        const jointCount = Math.min(this.#rig?.bones.length ?? Number(this.#isBound), 65535);
        const options = { quantized: quantized && jointCount === 0, byMaterial: true, jointCount, linearColors: true, signal };
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
     */
    async #show(meshes) {
        this.#clear();
        const rig = this.#rig ?? null;
        const isClockwise = this.file.info.conventions.frontFace === 'clockwise';
        const hue = meshes.length > 1 ? 1 / meshes.length : 0;
        const objects = meshes.map((mesh, number) => objectOf(mesh, { rig, isClockwise, hue: number * hue, ...this.#options }));
        // Joints before meshes, because animations find the first object with a name.
        for (const object of [...rig?.roots ?? [], ...objects]) this.add(object);
        if (!this.#options.material) await Promise.all(objects.map((object, number) => this.#textures.show(meshes[number], object)));
    }

    #clear() {
        for (const child of [...this.children]) {
            const { geometry, material, skeleton } = /** @type {import('three').SkinnedMesh} */ (child);
            geometry?.dispose();
            skeleton?.dispose();
            for (const one of [material ?? []].flat()) one.dispose();
            this.remove(child);
        }
    }

    /** @param {import('three').Bone[]} bones */
    async #clips(bones) {
        const { anims } = this.file.info;
        for (const [index, { name, rate, isLoop }] of anims.entries()) {
            try {
                const { frameCount, poseCount, poseParents, values } = await this.file.frames(index, { signal: this.#options.signal });
                if (poseCount !== bones.length) throw new MeshmapError('mismatch', `${poseCount} poses for ${bones.length} joints`);
                if (!areParents(bones, poseParents)) {
                    const message = `animation ${name || index}: the poses have other parents than the joints, which is not supported`;
                    throw new MeshmapError('unsupported', message);
                }
                const clip = clipOf(name || `anim ${index}`, bones, { frameCount, values, rate, isLoop });
                this.animations.push(clip);
            } catch (error) {
                if (!(error instanceof MeshmapError) || error.kind === 'crash') throw error;
                this.errors.push(error);
            }
        }
    }

    /** Releases the memory of the meshes and the file. */
    dispose() {
        this.#playback.stop();
        this.#clear();
        if (this.#isCopy) return;
        this.#textures.dispose();
        this.file.close();
    }
}

/**
 * The address to which the names of images in a file are relative; null if they are not to be shown.
 *
 * @param {Parameters<typeof open>[0]} source
 * @param {LoaderOptions} options
 */
function folderOf(source, { textures = true }) {
    const address = typeof textures === 'string' ? textures : source;
    const here = globalThis.document?.baseURI;
    const isAddress = textures !== false && (typeof address === 'string' || address instanceof URL) && URL.canParse(address, here);
    const base = isAddress ? new URL(address, here).href : null;
    // Nothing is next to a blob or data.
    return base !== null && URL.canParse('image', base) ? base : null;
}

/**
 * Returns the error of a part of a file, with which the other parts can be shown; throws other errors.
 *
 * @param {unknown} error
 */
function errorOfAPart(error) {
    const isOfAPart = error instanceof MeshmapError && !['network', 'response', 'changed', 'crash'].includes(error.kind);
    if (!isOfAPart) throw error;
    return error;
}

export { MeshmapError };
