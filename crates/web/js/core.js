import initModule, { Session } from './module.js';
import { MeshmapError, errorOf } from './error.js';
import { BlobSource, UrlSource, expect, throwIfAborted } from './source.js';

/**
 * Options for reading files. URLs are fetched with the settings of {@link import('./source.js').FetchSettings}.
 *
 * @typedef {object} CoreOptions
 * @property {string} [wasm] The URL of another module, such as the module for one format.
 * @property {number} [maxBlockBytes] Maximum size of a decoded array or block; 512 MiB.
 * @property {number} [maxTotalBytes] Maximum number of bytes that one job decodes, returns or fetches; 1 GiB.
 * @property {number} [maxHeldBytes] Maximum number of bytes of the file that are cached between jobs; 256 MiB. Above it, all are dropped.
 * @property {number} [gap] Ranges that are nearer to each other are one request, if the bytes between them are missing as well; 64 KiB. Files
 *     up to 256 KiB take two requests at most, unless the server hides their length.
 * @property {number} [first] The least that the first request for a URL asks for, in bytes; 64 KiB.
 * @property {boolean} [prefetch] OpenCTM, TMF: the rest of the file is fetched when it is opened, because all of it will be shown; false. The
 *     loader of three.js does so.
 * @property {number} [whole] The maximum number of bytes of IQM, OpenCTM and TMF files that take two requests at most as well; 4 MiB.
 */

/** @type {Map<string, Promise<unknown>>} */
const modules = new Map();

/**
 * The module, made once.
 *
 * @param {string} [address]
 */
export function load(address = new URL('./wasm/all.wasm', import.meta.url).href) {
    let module = modules.get(address);
    if (!module) {
        if (modules.size > 0) throw new MeshmapError('unsupported', 'another module is in use in this thread');
        module = bytesOf(address).then((bytes) => initModule({ module_or_path: bytes }));
        module.catch(() => modules.delete(address));
        modules.set(address, module);
    }
    return module;
}

/** @param {string} address */
async function bytesOf(address) {
    if (!address.startsWith('file:')) return fetch(address);
    // Only Node has modules in files. Bundlers must not resolve this module.
    const name = 'node:fs/promises';
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
    return readFile(new URL(address));
}

/** The least that is read ahead at most, where each part of a file says where the next one is. */
const MOST_AHEAD = 2 ** 24;

/** Jobs that do not wait for each other, so that several snapshots can be fetched at the same time. */
const OVERLAPPING = new Set(['moment']);

/**
 * The result of a job: an object, and the arrays that it describes.
 *
 * @typedef {{ value: any, arrays: Uint8Array[] }} Made
 */

/** A file in this thread. */
export class CoreFile {
    /**
     * @param {string | Blob} source
     * @param {CoreOptions & import('./source.js').FetchSettings} options
     */
    constructor(source, options) {
        const { maxBlockBytes = 2 ** 29, maxTotalBytes = 2 ** 30, maxHeldBytes = 2 ** 28 } = options;
        const { gap = 2 ** 16, first = 2 ** 16, whole = 2 ** 22, prefetch = false } = options;
        this.source = typeof source === 'string' ? new UrlSource(source, options) : new BlobSource(source);
        this.gap = gap;
        this.first = first;
        this.whole = whole;
        this.maxHeldBytes = maxHeldBytes;
        // Bytes that are fetched ahead have to stay until they are asked for.
        const maxPrefetchedBytes = Math.min(maxHeldBytes, maxTotalBytes);
        /** The least of the second request while a file is opened in which each part says where the next one is. */
        this.ahead = prefetch ? maxPrefetchedBytes : first;
        this.session = new Session(this.source.stats.length ?? undefined, maxBlockBytes, maxTotalBytes, maxPrefetchedBytes);
        /** The last job that does not overlap. @type {Promise<unknown>} */
        this.last = Promise.resolve();
        /** Overlapping jobs that run. @type {Set<Promise<unknown>>} */
        this.overlapping = new Set();
        /** The number of times that the bytes of the file were dropped. */
        this.drops = 0;
        /** @type {() => void} */
        this.onFetch = () => {};
        this.isClosed = false;
    }

    /**
     * Opens a file.
     *
     * @param {string | Blob} source
     * @param {CoreOptions & import('./source.js').FetchSettings} options
     * @param {AbortSignal} [signal]
     * @param {(stats: import('./source.js').Stats) => void} [onFetch] Called while responses arrive, and after each.
     */
    static async open(source, options, signal, onFetch) {
        try {
            await load(options.wasm);
        } catch (error) {
            if (error instanceof MeshmapError) throw error;
            throw new MeshmapError('network', `the module cannot be loaded: ${error instanceof Error ? error.message : error}`);
        }
        const file = new CoreFile(source, options);
        if (onFetch) file.onFetch = () => onFetch(file.stats);
        try {
            const { value } = await file.run('open', [], signal);
            return { file, info: value };
        } catch (error) {
            file.close();
            if (error instanceof MeshmapError) error.stats = file.stats;
            throw error;
        }
    }

    /** Statistics of the fetches so far. */
    get stats() {
        return { ...this.source.stats };
    }

    /**
     * Runs a job of the session, and fetches the bytes that it lacks. Jobs run one after another, except overlapping jobs.
     *
     * @param {string} job
     * @param {unknown[]} args
     * @param {AbortSignal} [signal]
     * @returns {Promise<Made>}
     */
    run(job, args, signal) {
        const overlaps = OVERLAPPING.has(job);
        const before = overlaps ? this.last : Promise.all([this.last, ...this.overlapping]);
        const run = before.then(() => this.#run(job, args, signal));
        const end = run.catch(() => {});
        if (overlaps) {
            this.overlapping.add(end);
            end.then(() => this.overlapping.delete(end));
        } else {
            this.last = end;
        }
        return run;
    }

    /**
     * @param {string} job
     * @param {unknown[]} args
     * @param {AbortSignal} [signal]
     */
    async #run(job, args, signal) {
        const sink = {
            /** @type {import('./source.js').Sink['supply']} */
            supply: (offset, bytes) => {
                if (this.isClosed) return;
                call(() => this.session.supply(offset, bytes));
                this.onFetch();
            },
            progress: () => this.onFetch(),
            /** @type {import('./source.js').Sink['setLength']} */
            setLength: (length) => void (this.isClosed || call(() => this.session.set_length(length))),
        };
        let before = '';
        for (let { ahead } = this; ; ahead = Math.max(ahead, Math.min(4 * ahead, MOST_AHEAD))) {
            throwIfAborted(signal);
            if (this.isClosed) throw new MeshmapError('cancelled', 'the file is closed');
            const made = call(() => take(/** @type {any} */ (this.session)[job](...args)));
            if (made) {
                if (this.session.held() > this.maxHeldBytes) {
                    this.session.forget();
                    this.drops += 1;
                }
                return made;
            }
            const needed = this.session.needed(this.gap, this.first, this.whole, ahead);
            const now = `${needed.join()} of ${this.source.stats.length}, ${this.drops}`;
            if (now === before) throw new MeshmapError('io', `the job asks for bytes ${needed.join()} again, which it was given`);
            before = now;
            const ranges = Array.from({ length: needed.length / 2 }, (_, i) => /** @type {[number, number]} */ ([needed[2 * i], needed[2 * i + 1]]));
            expect(this.source.stats, ranges);
            await this.source.read(ranges, sink, signal);
        }
    }

    close() {
        if (this.isClosed) return;
        this.isClosed = true;
        try {
            this.session.free();
        } catch {
            // A module that has ended has nothing to release.
        }
    }
}

/**
 * Returns the parts of a reply, and releases the reply.
 *
 * @param {import('./module.js').Reply | undefined} reply
 * @returns {Made | null}
 */
function take(reply) {
    if (!reply) return null;
    const value = JSON.parse(reply.json());
    const arrays = Array.from({ length: reply.count() }, (_, index) => reply.take(index));
    reply.free();
    return { value, arrays };
}

/**
 * Calls the module, which throws failures as JSON.
 *
 * @template T
 * @param {() => T} run
 * @returns {T}
 */
function call(run) {
    try {
        return run();
    } catch (error) {
        if (typeof error === 'string') throw errorOf(JSON.parse(error));
        if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
            throw new MeshmapError('crash', `the module has ended (${error.message}): the file needs more memory than there is, or this is a bug`);
        }
        throw error;
    }
}
