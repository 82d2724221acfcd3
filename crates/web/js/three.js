import { Group, Loader, LoaderUtils, Matrix4 } from 'three';
import { errorOf } from './error.js';
import { boundsOf, objectOf, setBounds } from './geometry.js';
import { MeshmapError, open } from './index.js';
import { Playback, mix } from './playback.js';
import { clipOf, copyOfRig, rigOf } from './rig.js';
import { Textures } from './textures.js';
import { follow } from './source.js';
import { RemoteUrl, parsed } from './url.js';

/**
 * Options of the loader.
 *
 * @typedef {object} OwnLoaderOptions
 * @property {string | number} [level] Second Life: the level of detail that is shown first, by name or number; 0, the finest.
 * @property {number} [snapshot] CGeo: the snapshot that is shown first; 0.
 * @property {number} [ahead] CGeo: the number of snapshots that are read ahead while snapshots are shown at equal steps; 6. Each needs
 *     at most 24 bytes per vertex.
 * @property {boolean} [interpolate] CGeo: shows positions between two snapshots; true.
 * @property {boolean} [skin] Makes bones and skinned meshes of the joints; true. Without them, vertices rest in the bind pose.
 * @property {boolean} [yUp] Rotates the object so that it is upright; true.
 * @property {number} [metresPerUnit] The length of one unit of the file in metres, which is the scale of the object; by default the unit of the
 *     file if it knows one, else 1. With 1, the object has the numbers of the file.
 * @property {boolean} [keepWinding] Keeps clockwise triangles; false. The normals of a file determine its winding; without normals, the format
 *     does, if it specifies the winding.
 * @property {boolean} [quantized] Second Life: positions stay normalized integers, and the matrix of the mesh converts them to
 *     lengths; true. Meshes that follow joints always have floats.
 * @property {boolean} [anims] IQM: reads animations; true.
 * @property {boolean | string | ((name: string) => string | null)} [textures] IQM, OpenCTM: shows the images that the file names, if they are in its
 *     folder; true. A URL ends with a slash, and is of the folder to look in. Files that are not read from a URL have no folder. A function
 *     returns the URL of the image for a name in the file, or null.
 * @property {import('three').LoadingManager} [manager] Loads these images.
 * @property {number} [maxMeshes] Maximum number of meshes that are shown; 4,096.
 * @property {(mesh: import('./index.js').ShapeMesh, material: number, color: import('three').Color) => import('three').Material} [material] Makes
 *     the material of the triangles with a number, for which all programs show this colour.
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
    /** @type {AbortController} */
    #loading;

    /** @param {import('three').LoadingManager} [manager] */
    constructor(manager) {
        super(manager);
        /** @type {LoaderOptions} */
        this.options = {};
        /** Aborts the files that are being loaded. */
        this.#loading = new AbortController();
    }

    /** Aborts the files that are being loaded: they fail with an `AbortError`. */
    abort() {
        this.#loading.abort();
        this.#loading = new AbortController();
        return this;
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
        const loading = new AbortController();
        follow(options.signal, loading);
        // Since r180, a manager aborts all that it loads.
        const { abortController } = /** @type {{ abortController?: AbortController }} */ (/** @type {unknown} */ (this.manager));
        const stops = [follow(this.#loading.signal, loading), follow(abortController?.signal, loading)];
        /** @type {LoaderOptions} */
        const source = { manager: this.manager, ...options, request: all, signal: loading.signal };
        if (onProgress || onStats) {
            source.onProgress = (stats) => {
                onStats?.(stats);
                const { bytes: loaded, expected } = stats;
                onProgress?.(new ProgressEvent('progress', { lengthComputable: true, loaded, total: Math.max(loaded, expected) }));
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
        }).finally(() => stops.forEach((stop) => stop()));
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
    /** The joints; null if there are none, `undefined` before they are read. @type {import('./rig.js').Rig | null | undefined} */
    #rig;
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
        const addressOf = typeof options.textures === 'function' ? options.textures : null;
        this.#textures = new Textures(base, addressOf, file?.info.conventions.vOrigin === 'top', options.manager);
        /** @type {import('three').AnimationClip[]} */
        this.animations = [];
        /**
         * The meaning of the part that is shown: its axes, its unit, its shapes, joints and clips.
         *
         * @type {import('./index.js').Scene | null}
         */
        this.scene = null;
        /** The errors of parts that cannot be read or used; the other parts are shown. @type {MeshmapError[]} */
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
    }

    /**
     * Opens a file, and shows the same parts as viewers: the finest level of detail, the first snapshot.
     *
     * @param {Parameters<typeof open>[0]} source
     * @param {LoaderOptions} [options]
     */
    static async open(source, options = {}) {
        // A worker cannot receive these.
        const { material, manager, textures, ...settings } = options;
        const object = new MeshmapObject(await open(source, { prefetch: true, ...settings }), options, folderOf(source, textures));
        try {
            const { levels, snapshots } = object.file.info;
            if (snapshots) {
                await object.setSnapshot(options.snapshot ?? 0);
            } else if (levels.length > 0 && options.level !== undefined) {
                await object.setLevel(options.level);
            } else if (levels.length > 0) {
                await object.#loadFinest();
            } else {
                await object.#load({});
                // Everything is there.
                object.file.close();
            }
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
        this.#textures = source.#textures;
        this.#isCopy = true;
        // A copy without children shows nothing, and makes joints with its first level of detail.
        if (!recursive) return this;
        this.scene = source.scene;
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

    /** The skeleton of a file with joints. */
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
        await this.#load({ level: name });
    }

    /**
     * Shows a snapshot of CGeo. A number between two snapshots shows positions and normals between them, or the nearest snapshot with
     * the option `interpolate: false`. If several snapshots are requested while another one is read, the last is shown.
     *
     * @param {number} index
     */
    setSnapshot(index) {
        if (!Number.isFinite(index)) return Promise.reject(new MeshmapError('out_of_range', `snapshot ${index} is not a number of a snapshot`));
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
        if (!Number.isFinite(number)) return Promise.reject(new MeshmapError('out_of_range', `${seconds} is not a time`));
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
            await this.#load({ snapshot: from });
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

    /** Shows the finest level of detail that can be used. The errors of finer ones are in `errors`. */
    async #loadFinest() {
        const found = [];
        for (const { name } of this.file.info.levels) {
            try {
                await this.#load(found.length === 0 ? {} : { level: name });
                this.errors.unshift(...found);
                return;
            } catch (error) {
                found.push(errorOfAPart(error));
            }
        }
        throw found[0];
    }

    /**
     * Reads a scene, and shows it in place of the one before.
     *
     * @param {{ level?: string, snapshot?: number }} part
     */
    async #load(part) {
        const { yUp, metresPerUnit, maxMeshes, prefetch, skin, anims, signal } = this.#options;
        const up = yUp === false ? 'y' : undefined;
        const scene = await this.file.scene({ ...part, up, metresPerUnit, maxMeshes, prefetch, signal });
        const errors = scene.errors.map(errorOf);
        const meshes = [];
        for (const index of scene.shapes.keys()) {
            try {
                meshes.push(await this.#shape(scene, index));
            } catch (error) {
                errors.push(errorOfAPart(error));
            }
        }
        if (meshes.length === 0 && errors.length > 0) throw errors[0];
        errors.push(...scene.remarks.map((remark) => new MeshmapError('unusable', remark)));
        if (this.#rig === undefined) {
            // Bones stay for all levels of detail.
            this.#rig = scene.skeleton && skin !== false ? rigOf(scene.skeleton) : null;
            if (!this.#isCopy) new Matrix4().fromArray(scene.upright).decompose(this.position, this.quaternion, this.scale);
        }
        await this.#show(meshes, scene);
        this.scene = scene;
        this.errors = errors;
        this.level = part.level ?? this.file.info.levels.find(({ level }) => level === scene.shapes[0]?.role.level)?.name ?? null;
        this.meshCount = scene.shapes.length + scene.errors.length + scene.moreMeshes;
        if (this.#rig && anims !== false) await this.#readClips(scene, this.#rig.bones);
    }

    /**
     * @param {import('./index.js').Scene} scene
     * @param {number} index
     */
    async #shape(scene, index) {
        const { quantized = true, signal } = this.#options;
        const options = { quantized, byMaterial: true, linearColors: true, signal };
        const mesh = await this.file.shape(scene, index, options);
        const dequant = mesh.attributes.position?.dequant;
        // A matrix that flattens or mirrors everything is not suitable for normals.
        const isPlain = dequant?.scale.slice(0, 3).every((scale) => scale > 0 && Number.isFinite(scale)) ?? true;
        return isPlain ? mesh : this.file.shape(scene, index, { ...options, quantized: false });
    }

    /**
     * Replaces the shown meshes.
     *
     * @param {import('./index.js').ShapeMesh[]} meshes
     * @param {import('./index.js').Scene} scene
     */
    async #show(meshes, { arePoints, shapes }) {
        this.#clear();
        const rig = this.#rig ?? null;
        const objects = meshes.map((mesh) => objectOf(mesh, { rig, arePoints, ...this.#options }));
        // Joints before meshes, because animations find the first object with a name.
        for (const object of [...rig?.roots ?? [], ...objects]) this.add(object);
        if (this.#options.material || arePoints) return;
        const images = new Map(shapes.map(({ address, material }) => [address, material?.image ?? null]));
        await Promise.all(objects.map((object, number) => {
            const mesh = meshes[number];
            return this.#textures.show(mesh, images.get(mesh.address) ?? null, object);
        }));
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

    /**
     * @param {import('./index.js').Scene} scene
     * @param {import('three').Bone[]} bones
     */
    async #readClips(scene, bones) {
        for (const [index, clip] of scene.clips.entries()) {
            const name = clip.name || `anim ${index}`;
            try {
                const keys = await this.file.clip(scene, index, { signal: this.#options.signal });
                this.animations.push(clipOf(name, bones, clip, keys));
            } catch (error) {
                if (!(error instanceof MeshmapError) || error.kind === 'crash') throw error;
                error.message = `animation ${name}: ${error.message}`;
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
 * @param {LoaderOptions['textures']} textures
 */
function folderOf(source, textures = true) {
    if (textures === false || typeof textures === 'function') return null;
    const folder = typeof textures === 'string' ? textures : source;
    if (typeof folder !== 'string' && !(folder instanceof URL) && !(folder instanceof RemoteUrl)) return null;
    const url = new RemoteUrl(folder).withSecrets();
    const base = parsed(url, globalThis.document?.baseURI);
    // Nothing is next to a blob or data.
    return base !== null && parsed('image', base) ? base.href : null;
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
