import { MeshmapError } from './error.js';
import { RemoteUrl, withoutSecretsIn } from './url.js';

/**
 * Statistics of the fetches of a file.
 *
 * @typedef {object} Stats
 * @property {number} requests Number of requests, including repeated ones; for files on the disk, number of slices.
 * @property {number} bytes Bytes of their responses.
 * @property {number} expected The bytes that `bytes` reaches when all that is asked for now has come.
 * @property {number | null} length The length of the file, if it is known.
 */

/**
 * The receiver of bytes.
 *
 * @typedef {object} Sink
 * @property {(offset: number, bytes: Uint8Array) => void} supply
 * @property {(length: number) => void} setLength
 * @property {() => void} progress Called while a response arrives.
 */

/**
 * Settings for fetching URLs.
 *
 * @typedef {object} FetchSettings
 * @property {RequestInit} [request] Headers, credentials and so on of every request.
 * @property {number} [parallel] The most requests at a time; 6.
 * @property {number} [retries] The number of times that a request is sent again after no answer, or the status 429 or 5xx; 2. The
 *     wait that a server asks for in `Retry-After` is kept, up to 30 s.
 * @property {number} [timeout] Seconds without a byte after which a request counts as failed; 30.
 * @property {boolean} [redirects] Follows redirects to other origins; false.
 * @property {number} [maxWhole] The maximum number of bytes of a file that a server without ranges sends whole, and that
 *     is held twice while it arrives; 128 MiB.
 */

/** A file at a URL, of which ranges are fetched: all of one version. */
export class UrlSource {
    /**
     * @param {string} url An absolute URL.
     * @param {FetchSettings} [settings]
     */
    constructor(url, { request = {}, parallel = 6, retries = 2, timeout = 30, redirects = false, maxWhole = 2 ** 27 } = {}) {
        this.url = new RemoteUrl(url);
        this.settings = { request, parallel, retries, timeout, redirects, maxWhole };
        /** @type {Stats} */
        this.stats = { requests: 0, bytes: 0, expected: 0, length: null };
        /** @type {Version | null} */
        this.version = null;
        this.isSameOrigin = typeof location !== 'undefined' && new URL(url).origin === location.origin;
    }

    /**
     * Fetches ranges, and supplies what came.
     *
     * @param {[number, number][]} ranges
     * @param {Sink} sink
     * @param {AbortSignal} [signal]
     */
    async read(ranges, sink, signal) {
        // The first response determines the length, and the version that all other responses must have.
        if (!this.version) return this.#part(ranges[0], sink, signal);
        const length = this.stats.length ?? Infinity;
        const queue = ranges.map(([start, end]) => [start, Math.min(end, length)]).filter(([start, end]) => start < end);
        const failed = new AbortController();
        const either = failed.signal;
        const stop = follow(signal, failed);
        const work = async () => {
            for (let range = queue.shift(); range; range = queue.shift()) {
                await this.#part(/** @type {[number, number]} */ (range), sink, either);
            }
        };
        try {
            await Promise.all(Array.from({ length: Math.min(this.settings.parallel, queue.length) }, work));
        } catch (error) {
            failed.abort();
            throw error;
        } finally {
            stop();
        }
    }

    /**
     * @param {[number, number]} range
     * @param {Sink} sink
     * @param {AbortSignal} [signal]
     */
    async #part([start, end], sink, signal) {
        const { response, body } = await this.#answer([start, end], sink, signal);
        if (response.status === 416) {
            await this.#pastEnd(response, start, sink, signal);
            return;
        }
        const said = contentRange(response);
        const version = Version.of(response, said?.total ?? null);
        if (response.status === 200) {
            if (this.version) throw this.#changed('the server sends the whole file now');
            this.version = version;
            this.#setLength(body.length, sink);
            sink.supply(0, body);
            return;
        }
        if (said && (said.start !== start || said.end !== start + body.length)) {
            throw this.#response(`asked for bytes ${start} to ${end - 1}, the response is "${said.text}" with ${body.length} bytes`);
        }
        const difference = this.version?.difference(version);
        if (difference) throw this.#changed(difference);
        this.version ??= version;
        const expected = Math.min(end, said?.total ?? this.stats.length ?? end) - start;
        if (body.length > expected) throw this.#response(`${body.length} bytes for a range of ${expected}`);
        if (said?.total != null) {
            this.#setLength(said.total, sink);
        } else if (body.length < expected && this.stats.length === null) {
            // Content-Range is hidden from other origins; a response that ends early reveals the same.
            this.#setLength(start + body.length, sink);
        }
        if (this.stats.length !== null && body.length < Math.min(end, this.stats.length) - start) {
            throw this.#response(`${body.length} bytes for a range of ${expected}`);
        }
        sink.supply(start, body);
    }

    /**
     * The file ends before the range: how long it is.
     *
     * @param {Response} response
     * @param {number} start
     * @param {Sink} sink
     * @param {AbortSignal} [signal]
     */
    async #pastEnd(response, start, sink, signal) {
        const total = /^bytes \*\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
        let length = total === undefined ? null : Number(total);
        if (length === null) {
            this.stats.requests += 1;
            const head = await this.#fetch({ method: 'HEAD' }, signal);
            const text = head.ok ? head.headers.get('content-length') : null;
            if (text !== null) length = Number(text);
        }
        if (length !== null) this.#checkLength(length);
        if (length === null || length > start) throw this.#response(`no bytes from ${start} on (416)`);
        this.version ??= Version.of(response, length);
        this.#setLength(length, sink);
    }

    /**
     * A response and its bytes; asked for again where that may help.
     *
     * @param {[number, number]} range
     * @param {Sink} sink
     * @param {AbortSignal} [signal]
     */
    async #answer([start, end], sink, signal) {
        for (let attempt = 0; ; attempt += 1) {
            try {
                return await this.#once([start, end], sink, signal);
            } catch (error) {
                throwIfAborted(signal);
                if (!(error instanceof MeshmapError) || error.kind !== 'network' || signal?.aborted) throw error;
                const { retryAfter: asked = 0, isUnanswered } = /** @type {{ retryAfter?: number, isUnanswered?: boolean }} */ (error);
                if (attempt >= this.settings.retries) {
                    if (isUnanswered) error.message += await this.#cause(signal);
                    throw error;
                }
                await pause(Math.max(100 * 2 ** attempt, Math.min(asked, MOST_PATIENCE)), signal);
            }
        }
    }

    /**
     * @param {[number, number]} range
     * @param {Sink} sink
     * @param {AbortSignal} [signal]
     * @returns {Promise<{ response: Response, body: Uint8Array }>}
     */
    async #once([start, end], sink, signal) {
        /** @type {Record<string, string>} */
        const headers = { Range: `bytes=${start}-${end - 1}` };
        const tag = this.version?.tag;
        // Another origin would first have to allow this header. There, the responses are compared. A browser's cache sends it itself.
        const { cache = 'no-store' } = this.settings.request;
        if (tag && !tag.startsWith('W/') && this.isSameOrigin && cache === 'no-store') headers['If-Range'] = tag;
        this.stats.requests += 1;
        const silence = new Silence(this.settings.timeout, signal);
        try {
            return await this.#receive(headers, end - start, () => {
                silence.begin();
                sink.progress();
            }, silence.signal);
        } catch (error) {
            if (!silence.isOver) throw error;
            throw new MeshmapError('network', `${this.url}: no byte for ${this.settings.timeout} s`);
        } finally {
            silence.end();
        }
    }

    /**
     * @param {Record<string, string>} headers
     * @param {number} asked The length of the range.
     * @param {() => void} onPiece Called when bytes have come.
     * @param {AbortSignal} signal
     */
    async #receive(headers, asked, onPiece, signal) {
        const response = await this.#fetch({ headers }, signal);
        if (response.status >= 500 || response.status === 429) {
            await response.body?.cancel();
            const error = new MeshmapError('network', `${this.url}: the server answers ${response.status}`);
            throw Object.assign(error, { retryAfter: 1000 * Number(response.headers.get('retry-after')) || 0 });
        }
        if (response.status === 416) return { response, body: new Uint8Array() };
        if (response.status !== 206 && response.status !== 200) {
            await response.body?.cancel();
            throw this.#response(`the server answers ${response.status}`);
        }
        const encoding = response.headers.get('content-encoding');
        if (response.status === 206 && encoding && encoding !== 'identity') {
            throw this.#response(`compressed by the server (${encoding}), so that its bytes are not those of the file`);
        }
        if (/^multipart\//i.test(response.headers.get('content-type') ?? '')) {
            await response.body?.cancel();
            throw this.#response('the response has several ranges, which were not asked for');
        }
        const length = Number(response.headers.get('content-length') ?? 0);
        if (response.status === 200) {
            if (this.version || length > this.settings.maxWhole) {
                await response.body?.cancel();
                if (this.version) throw this.#changed('the server sends another file');
                throw this.#response(`the server sends no ranges, and the whole file is ${length} bytes`);
            }
        }
        const isWhole = response.status === 200;
        const [likely, most] = isWhole ? [length, this.settings.maxWhole] : [asked, asked];
        return { response, body: await this.#body(response, likely, most, onPiece) };
    }

    /**
     * The bytes of a response, of which no more than these are read.
     *
     * @param {Response} response
     * @param {number} likely How many will come.
     * @param {number} most
     * @param {() => void} onPiece
     */
    async #body(response, likely, most, onPiece) {
        const reader = response.body?.getReader();
        if (!reader) return new Uint8Array();
        const body = new Growing(likely);
        for (;;) {
            let piece;
            try {
                piece = await reader.read();
            } catch (error) {
                throw isAbort(error) ? error : new MeshmapError('network', `${this.url}: the response breaks off after ${body.length} bytes: ${withoutSecretsIn(reasonOf(error))}`);
            }
            if (piece.done) return body.bytes();
            this.stats.bytes += piece.value.length;
            if (body.length + piece.value.length > most) {
                await reader.cancel();
                throw this.#response(`more than the ${most} bytes of the range`);
            }
            body.add(piece.value);
            onPiece();
        }
    }

    /**
     * @param {RequestInit} init
     * @param {AbortSignal} [signal]
     */
    async #fetch(init, signal) {
        const { headers, ...request } = this.settings.request;
        const all = new Headers(headers);
        new Headers(init.headers).forEach((value, name) => all.set(name, value));
        let response;
        try {
            // A browser's cache lets one request for a URL wait for another one. And if a server ignores If-Range, as stores do, it answers with
            // bytes of a new version and the tag of the old one.
            response = await fetch(this.url.withSecrets(), { cache: 'no-store', ...request, ...init, headers: all, signal });
        } catch (error) {
            if (isAbort(error) || signal?.aborted) throw error;
            throw Object.assign(new MeshmapError('network', `${this.url}: no answer: ${withoutSecretsIn(reasonOf(error))}`), { isUnanswered: true });
        }
        if (response.redirected && !this.settings.redirects && !isOfOrigin(response.url, this.url.withSecrets())) {
            await response.body?.cancel();
            throw this.#response(`the server redirects to another origin, ${new RemoteUrl(response.url)}, which is followed if redirects are allowed (redirects: true)`);
        }
        return response;
    }

    /**
     * The likely cause of a missing answer. Browsers report one error for all causes, so that a request without a range is tried: browsers
     * refuse a compressed response to a request for a range.
     *
     * @param {AbortSignal} [signal]
     */
    async #cause(signal) {
        const { protocol } = new URL(this.url.withSecrets());
        if (protocol !== 'http:' && protocol !== 'https:') return `; URLs with ${protocol} may not be supported here`;
        if (typeof location === 'undefined') return '';
        const silence = new Silence(this.settings.timeout, signal);
        this.stats.requests += 1;
        try {
            await this.#fetch({ method: 'HEAD' }, silence.signal);
            return '; a request without a range is answered: the server may compress the file (Content-Encoding)';
        } catch {
            return this.isSameOrigin ? '' : '; the server may be unreachable, or not allow this page (CORS)';
        } finally {
            silence.end();
        }
    }

    /** @param {string} what */
    #response(what) {
        return new MeshmapError('response', `${this.url}: ${what}`);
    }

    /** @param {string} what */
    #changed(what) {
        return new MeshmapError('changed', `${this.url}: the file has changed: ${what}`);
    }

    /**
     * Numbers above 2^53 are not exact.
     *
     * @param {number} length
     */
    #checkLength(length) {
        if (!Number.isSafeInteger(length)) throw this.#response(`the length ${length} is not a number of bytes below 2^53`);
    }

    /**
     * @param {number} length
     * @param {Sink} sink
     */
    #setLength(length, sink) {
        this.#checkLength(length);
        if (this.stats.length === null) sink.setLength(length);
        this.stats.length = length;
    }
}

/** Milliseconds that are waited at most because a server asks for it. */
const MOST_PATIENCE = 30000;

/** @param {unknown} error */
const isAbort = (error) => error instanceof DOMException && error.name === 'AbortError';

/** @param {unknown} error */
function reasonOf(error) {
    if (!(error instanceof Error)) return String(error);
    // Node gives the reason of a failed fetch as its cause.
    return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 */
function pause(milliseconds, signal) {
    return new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        signal?.addEventListener('abort', () => (clearTimeout(timer), resolve(undefined)), { once: true });
    });
}

/** Aborts a request when no byte has come for some seconds. */
class Silence {
    /**
     * @param {number} seconds
     * @param {AbortSignal} [signal]
     */
    constructor(seconds, signal) {
        this.isOver = false;
        this.seconds = seconds;
        const controller = new AbortController();
        this.signal = controller.signal;
        this.stopFollowing = follow(signal, controller);
        this.abort = () => {
            this.isOver = true;
            controller.abort();
        };
        this.begin();
    }

    /** Counts from now on. */
    begin() {
        clearTimeout(this.timer);
        this.timer = setTimeout(this.abort, 1000 * this.seconds);
    }

    end() {
        clearTimeout(this.timer);
        this.stopFollowing();
    }
}

/** Bytes that come in pieces: room for what is likely to come is made as they come, not on the word of a server. */
class Growing {
    /** @param {number} likely */
    constructor(likely) {
        this.likely = likely;
        this.room = new Uint8Array(Math.min(likely, 2 ** 20));
        this.length = 0;
    }

    /** @param {Uint8Array} piece */
    add(piece) {
        const end = this.length + piece.length;
        if (end > this.room.length) {
            const twice = 2 * this.room.length;
            const room = new Uint8Array(Math.max(end, end <= this.likely ? Math.min(twice, this.likely) : twice));
            room.set(this.room.subarray(0, this.length));
            this.room = room;
        }
        this.room.set(piece, this.length);
        this.length = end;
    }

    bytes() {
        return this.room.subarray(0, this.length);
    }
}

/**
 * Lets a controller abort with a signal, as `AbortSignal.any` does in browsers of 2024. Returns what ends this.
 *
 * @param {AbortSignal | null | undefined} signal
 * @param {AbortController} controller
 */
export function follow(signal, controller) {
    if (!signal) return () => {};
    const abort = () => controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    return () => signal.removeEventListener('abort', abort);
}

/**
 * Does the same as `AbortSignal.throwIfAborted`.
 *
 * @param {AbortSignal | undefined} signal
 */
export function throwIfAborted(signal) {
    if (signal?.aborted) throw signal.reason;
}

/**
 * Counts ranges that are about to be read.
 *
 * @param {Stats} stats
 * @param {[number, number][]} ranges
 */
export function expect(stats, ranges) {
    const length = stats.length ?? Infinity;
    const bytes = ranges.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(end, length) - start), 0);
    stats.expected = stats.bytes + bytes;
}

/**
 * @param {string} url
 * @param {string} other
 */
const isOfOrigin = (url, other) => new URL(url).origin === new URL(other).origin;

/** The version of the file in a response, as far as this page may see it. */
class Version {
    /**
     * @param {string | null} tag
     * @param {string | null} modified
     * @param {number | null} length
     */
    constructor(tag, modified, length) {
        this.tag = tag;
        this.modified = modified;
        this.length = length;
    }

    /**
     * @param {Response} response
     * @param {number | null} length
     */
    static of(response, length) {
        return new Version(response.headers.get('etag'), response.headers.get('last-modified'), length);
    }

    /**
     * Describes the difference, if it is another version.
     *
     * @param {Version} other
     */
    difference(other) {
        if (this.length !== null && other.length !== null && this.length !== other.length) {
            return `its length was ${this.length}, now ${other.length}`;
        }
        if (this.tag !== other.tag) return `its tag was ${this.tag}, now ${other.tag}`;
        if (this.modified !== other.modified) return `its time was ${this.modified}, now ${other.modified}`;
        return null;
    }
}

/** @param {Response} response */
function contentRange(response) {
    const text = response.headers.get('content-range');
    const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(text ?? '');
    if (!match) return null;
    const [, start, last, total] = match;
    return { text, start: Number(start), end: Number(last) + 1, total: total === '*' ? null : Number(total) };
}

/** A file on the user's disk, or bytes in memory, which is read in slices, never as a whole. */
export class BlobSource {
    /** @param {Blob} blob */
    constructor(blob) {
        this.blob = blob;
        /** @type {Stats} */
        this.stats = { requests: 0, bytes: 0, expected: 0, length: blob.size };
    }

    /**
     * @param {[number, number][]} ranges
     * @param {Sink} sink
     * @param {AbortSignal} [signal]
     */
    async read(ranges, sink, signal) {
        for (const [start, end] of ranges) {
            throwIfAborted(signal);
            this.stats.requests += 1;
            let body;
            try {
                body = new Uint8Array(await this.blob.slice(start, end).arrayBuffer());
            } catch (error) {
                const why = error instanceof Error ? error.message : String(error);
                throw new MeshmapError('changed', `the file cannot be read, or has changed: ${why}`);
            }
            this.stats.bytes += body.length;
            sink.supply(start, body);
        }
    }
}
