import { CoreFile } from './core.js';
import { MeshmapError } from './error.js';
import { throwIfAborted } from './source.js';
import { RemoteUrl, parsed } from './url.js';
import { CannotLoad, configure, openInWorker, setWorkerLimit, withAddress } from './workers.js';

export { MeshmapError, RemoteUrl, configure, setWorkerLimit };

/**
 * Options for opening a file.
 *
 * @typedef {object} OwnOptions
 * @property {boolean | Worker} [worker] Reads the file in a worker of a small pool; `true` by default if workers are available. An own worker,
 *     whose script imports `meshmap/worker`, reads the files that are given to it. `false` reads in the thread of the page.
 * @property {AbortSignal} [signal] Ends the opening.
 * @property {(stats: Stats) => void} [onProgress] Called while responses arrive, and after each.
 *
 * @typedef {import('./core.js').CoreOptions & import('./source.js').FetchSettings & OwnOptions} OpenOptions
 * @typedef {import('./source.js').Stats} Stats
 */

/**
 * A rule of the format that the file breaks, and the location.
 *
 * @typedef {object} Finding
 * @property {string} rule
 * @property {'note' | 'suspicious' | 'forbidden' | 'unusable'} severity
 * @property {string | null} address
 * @property {[number, number] | null} byteRange
 * @property {number} count The number of places.
 * @property {string} detail The expected and the found value at the first place.
 * @property {string} message The complete finding in one line.
 */

/**
 * The information in a file's headers.
 *
 * @typedef {'x' | 'y' | 'z' | '-x' | '-y' | '-z'} Axis
 *
 * @typedef {object} FileInfo
 * @property {'cgeo' | 'iqm' | 'openctm' | 'slmesh' | 'tmf'} format
 * @property {{ up: Axis | null, usualUp: Axis, frontFace: 'clockwise' | 'counter_clockwise' | null, vOrigin: 'top' | 'bottom' | null }} conventions
 *     The conventions of the format; null if it does not specify them. Most files have the axis `usualUp` up.
 * @property {Finding[]} findings
 * @property {number} meshCount The number of meshes; for Second Life meshes, the number of `levels`.
 * @property {Level[]} levels The blocks of a Second Life mesh that hold faces, the finest first; else empty.
 * @property {{ count: number, start: number | null, step: number | null } | null} snapshots The snapshots of a CGeo file; times in seconds.
 * @property {{ name: string, frameCount: number, framerate: number, isLoop: boolean }[]} anims The animations of an IQM file, as stored.
 * @property {number} jointCount The number of joints of an IQM file.
 * @property {string | null} name The object name of a CGeo file.
 * @property {string[]} blocks The names of the blocks of a Second Life mesh, such as `skin`; else empty.
 *
 * @typedef {{ name: string, level: number | null, byteRange: [number, number] | null }} Level
 */

/**
 * The role of a mesh. A level of detail has a `level`, 0 the finest; a snapshot an `index` and perhaps `seconds`.
 *
 * @typedef {{ kind: 'geometry' | 'lod' | 'physics' | 'snapshot', level?: number, index?: number, seconds?: number }} Role
 *
 * @typedef {{ address: string, name: string, role: Role }} Entry
 */

/**
 * One property of all vertices.
 *
 * @typedef {object} Attribute
 * @property {Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array} array
 * @property {'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f16' | 'f32'} type `f16` is in a `Uint16Array`.
 * @property {number} itemSize
 * @property {boolean} normalized
 * @property {{ scale: number[], offset: number[] } | null} dequant The value is the normalized integer times scale plus offset.
 */

/**
 * A mesh as it is stored: one vertex buffer and one index buffer, in the order of the file.
 *
 * @typedef {object} Mesh
 * @property {string} address
 * @property {string} name
 * @property {string | null} material
 * @property {string | null} texture The image for the first texture coordinates that the file names, as a relative path with slashes that leads
 *     to no folder above; null without one, or if browsers do not show such images.
 * @property {Role} role
 * @property {number} vertexCount
 * @property {number} triangleCount
 * @property {{ min: number[], max: number[] } | null} bounds The bounding box of the finite positions.
 * @property {Record<string, Attribute>} attributes `position`, `normal`, `tangent`, `texcoord`, `texcoord[1]`, `color`, `joints`,
 *     `weights`, and others by their names in the file.
 * @property {Uint16Array | Uint32Array} indices
 * @property {Uint32Array} groups Three numbers for each run of triangles with one material: material, first index, number of indices.
 * @property {Finding[]} findings
 */

/**
 * The meaning of a file: what is drawn of it, and how it moves. Numbers are the file's.
 *
 * @typedef {object} Scene
 * @property {number} id Identifies the scene within its file.
 * @property {Axis} up The axis that points up: of the options, of the format or, if it has none, of the programs that usually write it.
 * @property {boolean} knowsUp `false` if neither the options nor the format say which axis points up.
 * @property {number | null} metresPerUnit The length of 1 in metres: of the options, or of a file that knows its unit.
 * @property {number[]} upright The matrix that makes the numbers of the file upright and metres: Y points up. Column by column, as
 *     `Matrix4.fromArray` of three.js takes it.
 * @property {boolean} arePoints `true` if the vertices of all shapes are drawn as points: there are no triangles, or few of equal corners, as
 *     programs write that save point clouds in a format of triangles.
 * @property {Shape[]} shapes What is drawn, in the order of the file. {@link MeshmapFile.shape} reads one.
 * @property {Skeleton | null} skeleton The joints at rest.
 * @property {Clip[]} clips The animations of the joints. {@link MeshmapFile.clip} reads the keys of one.
 * @property {string[]} remarks Parts of the file that cannot be used as they are stored, a sentence for each.
 * @property {import('./error.js').ErrorParts[]} errors The errors of meshes that cannot be read, and are no shapes.
 * @property {number} moreMeshes The number of meshes beyond `maxMeshes`.
 *
 * @typedef {{ address: string, name: string, role: Role, material: { name: string, image: string | null } | null }} Shape
 *
 * @typedef {object} Skeleton
 * @property {Joint[]} joints Parents come before their children.
 * @property {Float32Array} inverseBind The matrix that takes a vertex in the bind pose into each joint, sixteen numbers each, column by
 *     column.
 *
 * @typedef {{ translate: number[], rotate: number[], scale: number[] }} Trs Rotations are quaternions x, y, z, w.
 *
 * @typedef {object} Joint
 * @property {string} name
 * @property {number | null} parent
 * @property {Trs | { matrix: number[] }} rest The transform relative to the parent. No animation moves a joint with a matrix.
 *
 * @typedef {object} Clip
 * @property {string} name
 * @property {number} rate Frames per second: the stored rate, or the usual one if none is stored.
 * @property {boolean} isRateStored
 * @property {boolean} repeats `true` if the first frame follows the last one.
 * @property {number} frameCount
 */

/**
 * A shape of a scene, to be drawn: a mesh whose vertices follow the joints of the skeleton. Positions and normals are in the bind pose.
 *
 * @typedef {object} OwnShapeMesh
 * @property {number | null} resting The number of vertices that no joint moves, and that follow the joint after the last one; null if no vertex
 *     follows joints. Otherwise `attributes.joints` and `attributes.weights` are four of each for each vertex: the joints exist, and the
 *     weights have the sum 1.
 * @property {boolean} turnsTriangles `true` if the corners of triangles have to be reversed, so that fronts are counter-clockwise.
 * @property {Uint8Array} colors The colour of each of the `groups`, red, green and blue in sRGB. It is white if there are colours of vertices,
 *     which multiply it. A material with an image is white as well.
 *
 * @typedef {Mesh & OwnShapeMesh} ShapeMesh
 */

/**
 * The keys of a clip: of each joint, its transform relative to its parent at each time. Key `k` of joint `j` begins at
 * `(j * times.length + k) * 3` of translations and scales, and at four times this number of keys of rotations.
 *
 * @typedef {object} Keys
 * @property {Float32Array} times In seconds. A clip that repeats ends with its first frame.
 * @property {Float32Array} translations
 * @property {Float32Array} rotations Quaternions x, y, z, w.
 * @property {Float32Array} scales
 * @property {{ seconds: number, code: number, data: string }[]} events
 */

/**
 * The skin of a Second Life mesh, as stored. A matrix is sixteen numbers, column by column, as `Matrix4.fromArray` of three.js takes it.
 *
 * @typedef {object} Skin
 * @property {string[]} jointNames The joints that the `joints` of vertices refer to.
 * @property {number[] | null} bindShapeMatrix From the mesh to the space in which it was bound.
 * @property {Float32Array | null} inverseBindMatrices From that space to each joint.
 * @property {Float32Array | null} altInverseBindMatrices The positions that joints are moved to, in elements 12, 13 and 14.
 * @property {boolean} lockScaleIfJointPosition
 * @property {number | null} pelvisOffset The height that the pelvis is raised by, in metres.
 */

/**
 * Options for reading a mesh.
 *
 * @typedef {object} MeshOptions
 * @property {boolean} [quantized] Keeps positions that are stored as normalized integers, unless they follow joints.
 * @property {boolean} [byMaterial] Triangles are ordered by material, so that each is one group.
 * @property {string[]} [attributes] The attributes to read; all by default.
 * @property {boolean} [linearColors] Colours as linear light, four floats a vertex, for shaders. Colours with numbers outside of 0 to 1 are
 *     other data: they have the name `data.color`. By default all are as stored, which is sRGB.
 * @property {AbortSignal} [signal]
 */

/**
 * The parts of a file that a scene has.
 *
 * @typedef {object} SceneOptions
 * @property {string} [level] The block of a Second Life mesh, such as `lowest_lod`; by default the finest level of detail.
 * @property {number} [snapshot] The snapshot of a CGeo file; 0.
 * @property {Axis} [up] The axis that points up, in place of the axis of the format.
 * @property {number} [metresPerUnit] The length of 1 in metres, in place of what the file stores.
 * @property {number} [maxMeshes] Maximum number of meshes that are shapes; 4,096.
 * @property {boolean} [prefetch] IQM, OpenCTM and TMF: fetches the bytes of all shapes and clips with the scene, in few requests; true. `false`
 *     fetches them when they are asked for.
 * @property {AbortSignal} [signal]
 */

/**
 * Opens a file of any of the formats: a URL, from which ranges are fetched, a `File` on the user's disk, from which
 * slices are read, or bytes.
 *
 * @param {string | URL | RemoteUrl | Blob | ArrayBuffer | ArrayBufferView} source
 * @param {OpenOptions} [options]
 * @returns {Promise<MeshmapFile>}
 */
export async function open(source, options = {}) {
    const { worker = typeof Worker !== 'undefined', signal, onProgress, ...settings } = options;
    throwIfAborted(signal);
    const isUrl = source instanceof URL || source instanceof RemoteUrl || typeof source === 'string';
    const from = isUrl ? absolute(source)
        : source instanceof Blob ? source : new Blob([/** @type {BlobPart} */ (source)]);
    const request = settings.request && { ...settings.request };
    if (request?.headers) request.headers = [...new Headers(request.headers)];
    const all = withAddress({ ...settings, request });
    if (worker) {
        try {
            const { info, runner } = await openInWorker(worker, from, all, signal, onProgress);
            return new MeshmapFile({ ...NOTHING, ...info }, runner);
        } catch (error) {
            // A page may not allow workers, or none of this package: the thread of the page reads as well.
            if (!(error instanceof CannotLoad) || worker !== true) throw error;
        }
    }
    const { file, info } = await CoreFile.open(from, all, signal, onProgress);
    return new MeshmapFile({ ...NOTHING, ...info }, file);
}

/**
 * A URL, which may be relative to the page. The error of `URL` has the whole text, with its secrets.
 *
 * @param {string | URL | RemoteUrl} source
 */
function absolute(source) {
    const url = new RemoteUrl(source);
    const found = parsed(url.withSecrets(), globalThis.document?.baseURI ?? globalThis.location?.href);
    if (!found) throw new MeshmapError('network', `${url}: not a URL`);
    return found.href;
}

/** Conventions that a format does not specify. */
const NOTHING = { levels: [], snapshots: null, anims: [], jointCount: 0, name: null, blocks: [] };

/**
 * An object that runs jobs, here or in a worker.
 *
 * @typedef {object} Runner
 * @property {Stats} stats
 * @property {(job: string, args: unknown[], signal?: AbortSignal) => Promise<import('./core.js').Made>} run
 * @property {() => void} close
 */

/** An open file. */
export class MeshmapFile {
    /** @type {Runner} */
    #runner;

    /**
     * @param {FileInfo} info
     * @param {Runner} runner
     */
    constructor(info, runner) {
        /** The information in the headers. */
        this.info = info;
        this.#runner = runner;
    }

    /** @returns {FileInfo['format']} */
    get format() {
        return this.info.format;
    }

    /** Statistics of the fetches so far. */
    get stats() {
        return this.#runner.stats;
    }

    /**
     * Lists the meshes with these numbers. For a Second Life mesh, lists the faces of a level of detail, such as `lowest_lod`, whose
     * block is read; the finest by default.
     *
     * @param {{ level?: string, start?: number, end?: number, signal?: AbortSignal }} [options]
     * @returns {Promise<{ total: number, entries: Entry[] }>}
     */
    async meshes({ level = '', start = 0, end = 4096, signal } = {}) {
        return (await this.#runner.run('list', [level, start, end], signal)).value;
    }

    /**
     * The mesh at an address as it is stored, such as `meshes[0]`, `bodies[0]`, `snapshots[12]` or `high_lod.faces[0]`.
     *
     * @param {string} address
     * @param {MeshOptions} [options]
     * @returns {Promise<Mesh>}
     */
    async mesh(address, options = {}) {
        const { value, arrays } = await this.#runner.run('mesh', [address, ...wanted(options)], options.signal);
        const { resting, ...mesh } = meshOf(value, arrays);
        return mesh;
    }

    /**
     * The meaning of the file, or of some of its parts.
     *
     * @param {SceneOptions} [options]
     * @returns {Promise<Scene>}
     */
    async scene({ level = '', snapshot = 0, up, metresPerUnit = 0, maxMeshes = 4096, prefetch = true, signal } = {}) {
        const args = [level, snapshot, up ?? '', metresPerUnit, maxMeshes, prefetch];
        const { value, arrays } = await this.#runner.run('scene', args, signal);
        const { joints, ...scene } = value;
        return { ...scene, skeleton: joints && { joints, inverseBind: typed('f32', arrays[0]) } };
    }

    /**
     * Reads a shape of a scene, to be drawn.
     *
     * @param {Scene} scene
     * @param {number} index
     * @param {MeshOptions} [options]
     * @returns {Promise<ShapeMesh>}
     */
    async shape(scene, index, options = {}) {
        const { value, arrays } = await this.#runner.run('shape', [scene.id, index, ...wanted(options)], options.signal);
        const colors = /** @type {Uint8Array} */ (arrays.at(-1));
        return { ...meshOf(value, arrays), name: scene.shapes[index].name, colors };
    }

    /**
     * Reads the keys of a clip of a scene.
     *
     * @param {Scene} scene
     * @param {number} index
     * @param {{ signal?: AbortSignal }} [options]
     * @returns {Promise<Keys>}
     */
    async clip(scene, index, { signal } = {}) {
        const { value, arrays } = await this.#runner.run('clip', [scene.id, index], signal);
        const [times, translations, rotations, scales] = arrays.map((array) => /** @type {Float32Array} */ (typed('f32', array)));
        return { times, translations, rotations, scales, events: value.events };
    }

    /**
     * Positions and normals of a CGeo snapshot, for the vertices of the mesh at snapshot `base`. Returns null if its triangles
     * differ from the triangles of `base`: then read its mesh. With `attributes: ['position']`, only the positions are fetched and
     * decoded, and `normals` is null.
     *
     * @param {number} base
     * @param {number} index
     * @param {{ attributes?: ('position' | 'normal')[], signal?: AbortSignal }} [options]
     * @returns {Promise<{ seconds: number | null, positions: Float32Array, normals: Float32Array | null } | null>}
     */
    async moment(base, index, { attributes = ['position', 'normal'], signal } = {}) {
        const { value, arrays } = await this.#runner.run('moment', [base, index, attributes.includes('normal')], signal);
        if (!value.isSame) return null;
        const [positions, normals] = arrays.map((array) => /** @type {Float32Array} */ (typed('f32', array)));
        return { seconds: value.seconds, positions, normals: value.hasNormals ? normals : null };
    }

    /**
     * The skin of a Second Life mesh as it is stored; null if the file has none.
     *
     * @param {{ signal?: AbortSignal }} [options]
     * @returns {Promise<Skin | null>}
     */
    async skin({ signal } = {}) {
        const { value, arrays } = await this.#runner.run('skin', [], signal);
        const { hasSkin, hasInverse, hasAlternative, ...skin } = value;
        if (!hasSkin) return null;
        const [stored, alternative] = arrays.map((array) => /** @type {Float32Array} */ (typed('f32', array)));
        return {
            ...skin,
            inverseBindMatrices: hasInverse ? stored : null,
            altInverseBindMatrices: hasAlternative ? alternative : null,
        };
    }

    /** Releases its memory. */
    close() {
        this.#runner.close();
    }
}

const ARRAYS = {
    u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i16: Int16Array, u32: Uint32Array, i32: Int32Array,
    f16: Uint16Array, f32: Float32Array,
};

/**
 * Bytes, which begin their buffer, as numbers.
 *
 * @param {keyof typeof ARRAYS} type
 * @param {Uint8Array} bytes
 */
const typed = (type, bytes) => new ARRAYS[type](/** @type {ArrayBuffer} */ (bytes.buffer));

/**
 * Options of a mesh as a job takes them.
 *
 * @param {MeshOptions} options
 */
const wanted = ({ quantized = false, byMaterial = false, attributes = [], linearColors = false }) => {
    return [quantized, byMaterial, attributes.join('\n'), linearColors];
};

/**
 * A mesh from its description and its arrays.
 *
 * @param {any} value
 * @param {Uint8Array[]} arrays
 */
function meshOf({ attributes: described, indexType, ...mesh }, arrays) {
    const read = described.map((/** @type {any} */ { semantic, ...attribute }, /** @type {number} */ index) => {
        return [semantic, { ...attribute, array: typed(attribute.type, arrays[index]) }];
    });
    const [indices, groups] = arrays.slice(described.length);
    return {
        ...mesh,
        attributes: Object.fromEntries(read),
        indices: /** @type {Uint16Array | Uint32Array} */ (typed(indexType, indices)),
        groups: /** @type {Uint32Array} */ (typed('u32', groups)),
    };
}
