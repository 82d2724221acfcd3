/**
 * A problem with a file or a request: its location, the expected and the found value.
 *
 * `kind` is one of `unknown_format`, `truncated`, `malformed`, `unsupported`, `limit_exceeded`, `out_of_range`, `mismatch`,
 * `cancelled` and `io`, of the library; `network` and `response` of requests; `changed` if the file has changed meanwhile;
 * `crash` if the module has ended; opening the next file starts it again. `unusable` is a part of a file that cannot be used as it is
 * stored, which the loader of three.js lists.
 */
export class MeshmapError extends Error {
    /**
     * @param {string} kind
     * @param {string} message
     * @param {Partial<ErrorParts>} [parts]
     */
    constructor(kind, message, parts = {}) {
        super(message);
        this.name = 'MeshmapError';
        this.kind = kind;
        /** @type {string | null} The format that was being read. */
        this.format = parts.format ?? null;
        /** @type {string} The structure, as the format's specification names it. */
        this.what = parts.what ?? '';
        /** @type {string | null} The part of the file. */
        this.address = parts.address ?? null;
        /** @type {[number, number] | null} The first of the wrong bytes, and the end. */
        this.byteRange = parts.byteRange ?? null;
        /** @type {[number, number] | null} The wrong bytes of a decoded block. */
        this.decodedRange = parts.decodedRange ?? null;
        /** @type {string} */
        this.expected = parts.expected ?? '';
        /** @type {string} */
        this.found = parts.found ?? '';
        /** Statistics of the fetches until the error, if the file was being read. @type {import('./source.js').Stats | null} */
        this.stats = null;
    }

    /** The parts, which can be posted to another thread. */
    toJSON() {
        const { kind, message, format, what, address, byteRange, decodedRange, expected, found } = this;
        return { kind, message, format, what, address, byteRange, decodedRange, expected, found };
    }
}

/**
 * @typedef {object} ErrorParts
 * @property {string | null} format
 * @property {string} what
 * @property {string | null} address
 * @property {[number, number] | null} byteRange
 * @property {[number, number] | null} decodedRange
 * @property {string} expected
 * @property {string} found
 */

/**
 * An error from its parts.
 *
 * @param {any} parts
 * @returns {MeshmapError}
 */
export const errorOf = (parts) => new MeshmapError(parts.kind, parts.message, parts);
