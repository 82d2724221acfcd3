/**
 * Positions and normals of a snapshot for the vertices of the base snapshot; null if its triangles differ.
 *
 * @typedef {Awaited<ReturnType<import('./index.js').MeshmapFile['moment']>>} Moment
 */

/** The snapshots of a CGeo file that are read: the two latest, and the next ones while snapshots are shown at equal steps. */
export class Playback {
    /** The snapshot whose mesh is loaded. */
    #base = 0;
    /** The snapshot that was read last. */
    #last = 0;
    /** The difference between the last two snapshots that were read. */
    #step = 0;
    /** The number of times in succession that it was the same. */
    #repeated = 0;
    /** Snapshots that are read, or wait to be shown. @type {Map<number, { moment: Promise<Moment>, abort: AbortController }>} */
    #ahead = new Map();
    /** The two snapshots that were used last. @type {Map<number, Moment>} */
    #latest = new Map();

    /**
     * @param {import('./index.js').MeshmapFile} file
     * @param {number} ahead The number of snapshots that are read ahead.
     */
    constructor(file, ahead) {
        this.file = file;
        this.ahead = ahead;
    }

    /**
     * Sets the snapshot whose mesh is loaded. What was read for another one is dropped.
     *
     * @param {number} base
     */
    begin(base) {
        this.stop();
        this.#latest.clear();
        this.#base = base;
        this.#last = base;
    }

    /** Returns another reader of the same file for a copy of the mesh. */
    clone() {
        const clone = new Playback(this.file, this.ahead);
        clone.begin(this.#base);
        return clone;
    }

    /** Stops reading ahead. */
    stop() {
        this.#keepAhead([]);
    }

    /**
     * Returns a snapshot.
     *
     * @param {number} index
     * @returns {Promise<Moment>}
     */
    async moment(index) {
        let moment = this.#latest.get(index);
        if (moment === undefined) moment = await this.#read(index);
        // A map is in order of insertion.
        this.#latest.delete(index);
        this.#latest.set(index, moment);
        const [oldest] = this.#latest.keys();
        if (this.#latest.size > 2) this.#latest.delete(oldest);
        return moment;
    }

    /**
     * Reads a snapshot. If the steps between snapshots are equal, the next snapshots are read meanwhile; after the last snapshot comes the
     * first. Steps over several snapshots have to be equal more often: a program that leaves out snapshots for lack of time seldom asks
     * for what was read ahead.
     *
     * @param {number} index
     */
    #read(index) {
        const { count } = this.file.info.snapshots ?? { count: 1 };
        const step = (index - this.#last + count) % count;
        this.#repeated = step === this.#step ? this.#repeated + 1 : 0;
        const ahead = step > 0 && this.#repeated >= (step === 1 ? 1 : 3) ? this.ahead : 0;
        this.#step = step;
        this.#last = index;
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
        const { moment } = /** @type {{ moment: Promise<Moment> }} */ (this.#ahead.get(index));
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
}

/**
 * Interpolates between two arrays.
 *
 * @param {import('three').TypedArray} out
 * @param {Float32Array} from
 * @param {Float32Array} to
 * @param {number} share 0 is `from`, 1 is `to`.
 */
export function mix(out, from, to, share) {
    if (from === to) out.set(from);
    else for (let i = 0; i < out.length; i += 1) out[i] = from[i] + (to[i] - from[i]) * share;
}
