import { MeshmapError, errorOf } from './error.js';

/**
 * The addresses of the worker and the module, for pages whose bundler finds neither, and for copies on other hosts.
 *
 * @typedef {object} Addresses
 * @property {string | URL} [worker] The script `meshmap/worker`.
 * @property {string | URL} [wasm] The module, such as `meshmap/wasm/all.wasm`.
 *
 * @typedef {import('./source.js').Stats} Stats
 */

/** The reason why no worker can be made with these addresses. @type {CannotLoad | null} */
let refusal = null;

/** @type {{ worker: string | null, wasm: string | null }} */
const addresses = { worker: null, wasm: null };

/**
 * Sets the addresses of the worker and the module, for files that are opened later. They are relative to the page.
 *
 * @param {Addresses} given
 */
export function configure({ worker, wasm }) {
    const absolute = (/** @type {string | URL} */ address) => new URL(address, globalThis.document?.baseURI ?? globalThis.location?.href).href;
    if (worker !== undefined) addresses.worker = absolute(worker);
    if (wasm !== undefined) addresses.wasm = absolute(wasm);
    refusal = null;
}

/** The workers of the package. @type {Thread[]} */
let pool = [];
let limit = 4;

/**
 * Sets the number of workers that read files at the same time, 4 by default. A file stays in the worker that opened it; new files go to the
 * one with least to do. A smaller number lets workers end once their files are closed.
 *
 * @param {number} count
 */
export function setWorkerLimit(count) {
    limit = Math.max(1, Math.floor(count) || 1);
    endIdle();
}

/** The workers that programs made. @type {WeakMap<Worker, Thread>} */
const own = new WeakMap();

/** No worker can be made on this page. */
export class CannotLoad extends MeshmapError {}

/**
 * Opens a file in a worker.
 *
 * @param {true | Worker} worker
 * @param {string | Blob} source
 * @param {object} options
 * @param {AbortSignal} [signal]
 * @param {(stats: Stats) => void} [onProgress]
 */
export async function openInWorker(worker, source, options, signal, onProgress) {
    const thread = worker === true ? idlest(/** @type {{ wasm?: string }} */ (options).wasm) : threadOf(worker);
    return thread.open(source, options, signal, onProgress);
}

/**
 * Options with the address of the module, unless they have one.
 *
 * @template {object} T
 * @param {T} options
 */
export const withAddress = (options) => (addresses.wasm === null ? options : { wasm: addresses.wasm, ...options });

/**
 * The worker with least to do; a new one if all have something to do, and there may be another one.
 *
 * @param {string} [wasm] The module, of which a worker has one.
 */
function idlest(wasm) {
    if (refusal) throw refusal;
    pool = pool.filter((thread) => !thread.hasEnded);
    const same = pool.filter((thread) => thread.wasm === wasm);
    const [least] = same.sort((a, b) => a.waiting.size - b.waiting.size || a.files.size - b.files.size);
    const isFree = least?.isIdle || (least && pool.length >= limit);
    const thread = isFree ? least : add(wasm);
    // A page that reads several files finds the next worker ready.
    const others = same.filter((other) => other !== thread);
    if (others.length > 0 && !others.some((other) => other.isIdle) && pool.length < limit) add(wasm).warm();
    return thread;
}

/** @param {string} [wasm] */
function add(wasm) {
    const thread = new Thread(make(), wasm);
    pool.push(thread);
    return thread;
}

/** @param {Worker} worker */
function threadOf(worker) {
    let thread = own.get(worker);
    if (!thread || thread.hasEnded) {
        thread = new Thread(worker);
        own.set(worker, thread);
    }
    return thread;
}

/** Ends workers beyond the limit that have no file. */
function endIdle() {
    for (const thread of pool) {
        if (pool.length <= limit) return;
        if (!thread.isIdle) continue;
        thread.end(new MeshmapError('cancelled', 'the worker is not used'));
        pool = pool.filter((other) => other !== thread);
    }
}

/** A worker of the package. Browsers refuse scripts of other origins, but not scripts of the page that import them. */
function make() {
    try {
        const { worker } = addresses;
        // Bundlers look for this expression.
        if (worker === null && !isOfAnotherOrigin(import.meta.url)) return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
        // Not an expression that bundlers look for: it would be copied as it is.
        const name = 'worker.js';
        const address = worker ?? new URL(name, import.meta.url).href;
        if (!isOfAnotherOrigin(address)) return new Worker(address, { type: 'module' });
        const script = new Blob([`import ${JSON.stringify(address)};`], { type: 'text/javascript' });
        return new Worker(URL.createObjectURL(script), { type: 'module' });
    } catch (error) {
        throw new CannotLoad('crash', `no worker can be made: ${error instanceof Error ? error.message : error}`);
    }
}

/** @param {string} address */
function isOfAnotherOrigin(address) {
    const { protocol, origin } = new URL(address);
    return (protocol === 'http:' || protocol === 'https:') && typeof location !== 'undefined' && origin !== location.origin;
}

/** A worker, and what waits for it. */
class Thread {
    /**
     * @param {Worker} worker
     * @param {string} [wasm] The address of its module, if it is not the usual one.
     */
    constructor(worker, wasm) {
        this.worker = worker;
        this.wasm = wasm;
        this.hasEnded = false;
        /** It has answered once, so that its script is there. */
        this.hasLoaded = false;
        this.next = 1;
        /** @type {Map<number, (message: any) => void>} */
        this.waiting = new Map();
        /** @type {Map<number, (stats: Stats) => void>} */
        this.files = new Map();
        this.worker.onmessage = ({ data }) => this.#receive(data);
        this.worker.onerror = (event) => {
            event.preventDefault();
            const message = `the worker has ended: ${event.message || 'it cannot be loaded'}`;
            this.end(this.hasLoaded ? new MeshmapError('crash', message) : new CannotLoad('crash', message));
        };
    }

    /** Loads the module before a file needs it. */
    warm() {
        this.worker.postMessage({ op: 'load', wasm: this.wasm });
    }

    /** It has no file. */
    get isIdle() {
        return this.files.size + this.waiting.size === 0;
    }

    /** @param {any} message */
    #receive(message) {
        const { id, file, stats, error } = message;
        this.hasLoaded = true;
        if (file !== undefined) {
            this.files.get(file)?.(stats);
            return;
        }
        const answer = this.waiting.get(id);
        this.waiting.delete(id);
        answer?.(message);
        // A module that has ended cannot be used.
        if (error?.kind === 'crash') this.end(errorOf(error));
    }

    /**
     * Ends the worker. What waits for it fails, and so does what is asked for later; the next file gets another one.
     *
     * @param {MeshmapError} error
     */
    end(error) {
        if (error instanceof CannotLoad && pool.includes(this)) refusal = error;
        this.hasEnded = true;
        this.worker.terminate();
        for (const answer of this.waiting.values()) answer({ error: error.toJSON(), cannotLoad: error instanceof CannotLoad });
        this.waiting.clear();
    }

    /**
     * @param {object} message
     * @param {AbortSignal} [signal]
     * @returns {Promise<any>}
     */
    ask(message, signal) {
        return new Promise((resolve, reject) => {
            if (signal?.aborted) return reject(signal.reason);
            if (this.hasEnded) return reject(new MeshmapError('crash', 'the worker of this file has ended: open it again'));
            const id = this.next++;
            const abort = () => this.worker.postMessage({ id, op: 'abort' });
            signal?.addEventListener('abort', abort, { once: true });
            this.waiting.set(id, (answer) => {
                signal?.removeEventListener('abort', abort);
                if (answer.isAbort) reject(signal?.reason);
                else if (answer.cannotLoad) reject(new CannotLoad('crash', answer.error.message));
                else if (answer.error) reject(Object.assign(errorOf(answer.error), { stats: answer.stats }));
                else resolve(answer);
            });
            this.worker.postMessage({ id, ...message });
        });
    }

    /**
     * @param {string | Blob} source
     * @param {object} options
     * @param {AbortSignal} [signal]
     * @param {(stats: Stats) => void} [onProgress]
     */
    async open(source, options, signal, onProgress) {
        const file = this.next++;
        /** @type {Stats} */
        let stats = { requests: 0, bytes: 0, expected: 0, length: null };
        this.files.set(file, (now) => {
            stats = now;
            onProgress?.(now);
        });
        const forget = () => this.files.delete(file);
        const ask = async (/** @type {object} */ message, /** @type {AbortSignal} */ signal) => {
            const answer = await this.ask({ file, ...message }, signal);
            stats = answer.stats;
            return answer;
        };
        try {
            const { value } = await ask({ op: 'open', source, options }, /** @type {any} */ (signal));
            /** @type {import('./index.js').Runner} */
            const runner = {
                get stats() {
                    return stats;
                },
                run: (job, args, signal) => ask({ op: 'job', job, args }, /** @type {any} */ (signal)),
                close: () => {
                    forget();
                    if (!this.hasEnded) this.worker.postMessage({ op: 'close', file });
                    endIdle();
                },
            };
            return { info: value, runner };
        } catch (error) {
            forget();
            throw error;
        }
    }
}
