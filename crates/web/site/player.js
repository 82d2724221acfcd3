// The clock of what moves: it follows the time of day, and shows what there is time to draw.

/**
 * Something that moves: the snapshots of a file, or a clip of its joints.
 *
 * @typedef {object} Motion
 * @property {number} frames The number of steps from the first frame to the last.
 * @property {number} step The seconds from one frame to the next.
 * @property {number} period The seconds after which it begins again.
 * @property {(frame: number) => unknown} show Shows a moment, by its number of frames from the first; a promise if that takes time.
 * @property {(frame: number) => string} label
 */

/** Plays a motion at its own speed. If showing a frame takes longer than a step, the frames that have passed meanwhile are left out. */
export class Player {
    /** @type {Motion | null} */
    #motion = null;
    /** The moment in seconds from the first frame, at the time of day `#since`. */
    #seconds = 0;
    #since = 0;
    /** The request for the next frame of the browser; 0 if nothing plays. */
    #request = 0;
    /** `true` while a frame is read. */
    #isBusy = false;
    #loops = true;
    /** Counts moments that were asked for: one that was read too late is not told. */
    #asked = 0;

    /** @param {() => void} onChange Called after another moment is shown, and after playing has begun or ended. */
    constructor(onChange) {
        this.onChange = onChange;
        this.speed = 1;
        /** Shows moments between two frames, unless frames are left out anyway. */
        this.isSmooth = true;
        /** The frame that is shown, or a moment between two. */
        this.frame = 0;
        /** The time of day of each of the last frames that were shown. @type {number[]} */
        this.shown = [];
        /** @type {(error: unknown) => void} */
        this.onError = () => {};
    }

    get isPlaying() {
        return this.#request !== 0;
    }

    get motion() {
        return this.#motion;
    }

    /** The number of frames that were drawn in the last second. */
    get rate() {
        const now = performance.now();
        return this.shown.filter((time) => now - time < 1000).length;
    }

    /**
     * Sets what moves. It stands still.
     *
     * @param {Motion | null} motion
     * @param {number} [frame]
     */
    set(motion, frame = 0) {
        this.pause();
        this.#motion = motion;
        this.frame = frame;
        this.#seconds = frame * (motion?.step ?? 0);
        this.onChange();
    }

    play() {
        const motion = this.#motion;
        if (!motion || this.isPlaying) return;
        // From the start, if it has come to its end.
        if (!this.#loops && this.frame >= motion.frames) this.#seconds = 0;
        this.#since = performance.now();
        this.shown = [];
        this.#request = requestAnimationFrame((now) => this.#tick(now));
        this.onChange();
    }

    pause() {
        if (!this.isPlaying) return;
        cancelAnimationFrame(this.#request);
        this.#request = 0;
        this.#seconds = this.frame * (this.#motion?.step ?? 0);
        this.onChange();
    }

    toggle() {
        if (this.isPlaying) this.pause();
        else this.play();
    }

    /** @param {number} speed A factor of the speed of the file. */
    setSpeed(speed) {
        this.#anchor();
        this.speed = speed;
    }

    get loops() {
        return this.#loops;
    }

    /** `true` if it begins again after its end. */
    set loops(loops) {
        this.#anchor();
        this.#loops = loops;
    }

    /** Counts on from the present moment, in the round that plays. */
    #anchor() {
        const now = performance.now();
        this.#seconds = this.#inRound(this.#now(now));
        this.#since = now;
    }

    /** A moment within the first round. @param {number} seconds */
    #inRound(seconds) {
        const period = this.#motion?.period ?? 0;
        return this.#loops && period > 0 ? seconds % period : seconds;
    }

    /**
     * Shows a moment.
     *
     * @param {number} frame
     */
    async seek(frame) {
        const motion = this.#motion;
        if (!motion) return;
        const wanted = Math.max(0, Math.min(motion.frames, frame));
        this.#seconds = wanted * motion.step;
        this.#since = performance.now();
        await this.#show(motion, wanted);
    }

    /**
     * Shows the next frame, or one before.
     *
     * @param {number} count
     */
    step(count) {
        this.pause();
        const frame = count > 0 ? Math.floor(this.frame) : Math.ceil(this.frame);
        return this.seek(frame + count);
    }

    /** The moment at a time of day. @param {number} now */
    #now(now) {
        return this.isPlaying ? this.#seconds + Math.max(0, now - this.#since) / 1000 * this.speed : this.#seconds;
    }

    /** @param {number} now */
    #tick(now) {
        const motion = this.#motion;
        if (!motion || !this.isPlaying) return;
        const seconds = this.#inRound(this.#now(now));
        const isOver = !this.#loops && seconds >= motion.frames * motion.step;
        if (!this.#isBusy || isOver) {
            const at = Math.min(motion.frames, seconds / motion.step);
            const isLeavingOut = Math.abs(at - this.frame) > 1;
            void this.#show(motion, this.isSmooth && !isLeavingOut ? at : Math.floor(at + 1e-6));
        }
        if (isOver) {
            this.frame = motion.frames;
            this.pause();
        } else {
            this.#request = requestAnimationFrame((time) => this.#tick(time));
        }
    }

    /**
     * @param {Motion} motion
     * @param {number} frame
     */
    async #show(motion, frame) {
        const asked = this.#asked += 1;
        this.#isBusy = true;
        try {
            await motion.show(frame);
        } catch (error) {
            // Another file may have been opened meanwhile, which is not to blame.
            if (this.#motion !== motion) return;
            this.pause();
            this.onError(error);
            return;
        } finally {
            this.#isBusy = false;
        }
        if (this.#motion !== motion || asked !== this.#asked) return;
        this.frame = frame;
        const now = performance.now();
        this.shown = this.shown.filter((time) => now - time < 1000);
        this.shown.push(now);
        this.onChange();
    }
}
