// The timeline: what moves in a file, and the controls for it.
import { Player } from './player.js';

/** @param {string} id @returns {any} */
const the = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');
/** The seconds from one snapshot to the next of a file that does not store them. */
const USUAL_STEP = 1 / 24;
/** Times beyond a year are damage. */
const LONGEST = 365 * 24 * 3600;

/** Controls for the snapshots or the clips of the open file. */
export class Timeline {
    /** @type {import('meshmap/three').MeshmapObject | null} */
    #object = null;

    /**
     * @param {import('./stage.js').Stage | null} stage
     * @param {{ onSnapshot: () => void, onSeek: (snapshot: number) => void, onError: (error: unknown) => void }} on What happens after a snapshot
     *     is shown, after the user has moved to one, and after one could not be read.
     */
    constructor(stage, on) {
        this.stage = stage;
        this.on = on;
        this.player = new Player(() => this.#report());
        this.player.onError = on.onError;
        the('playing').addEventListener('click', () => this.toggle());
        the('before').addEventListener('click', () => this.step(-1));
        the('after').addEventListener('click', () => this.step(1));
        the('seek').addEventListener('input', () => void this.#seek(Number(the('seek').value)));
        the('clip').addEventListener('change', () => this.#choose(the('clip').value));
        the('speed').addEventListener('change', () => this.player.setSpeed(Number(the('speed').value)));
        the('loop').addEventListener('change', () => {
            this.player.loops = the('loop').checked;
        });
        the('smooth').addEventListener('change', () => {
            this.player.isSmooth = the('smooth').checked;
        });
    }

    /** Takes over a file, or none. @param {import('meshmap/three').MeshmapObject | null} object */
    set(object) {
        this.#object = object;
        const snapshots = object?.file.info.snapshots ?? null;
        const clips = object?.animations ?? [];
        const hasSnapshots = (snapshots?.count ?? 0) > 1;
        the('play').hidden = !hasSnapshots && clips.length === 0;
        the('clips').hidden = clips.length === 0;
        const options = clips.map((clip, index) => new Option(clip.name, String(index)));
        the('clip').replaceChildren(new Option('bind pose', ''), ...options);
        this.player.set(object && snapshots && hasSnapshots ? this.#snapshots(object, snapshots) : null, object?.snapshot ?? 0);
    }

    /** @param {string} index The number of a clip, or nothing. */
    #choose(index) {
        const { isPlaying } = this.player;
        const clip = index === '' ? null : this.#object?.animations[Number(index)] ?? null;
        this.stage?.animate(clip);
        this.player.set(clip && this.#clip(clip));
        if (isPlaying) this.player.play();
    }

    toggle() {
        // Who plays a file in its bind pose wants to see its first animation.
        if (!this.player.motion && this.#object?.animations.length) this.#choose(the('clip').value = '0');
        this.player.toggle();
    }

    /** @param {number} count */
    step(count) {
        void this.player.step(count).then(() => this.#link());
    }

    /** @param {number} frame */
    async #seek(frame) {
        this.player.pause();
        await this.player.seek(frame);
        this.#link();
    }

    #link() {
        if (this.#object?.snapshot != null) this.on.onSeek(Math.floor(this.player.frame));
    }

    /**
     * @param {import('meshmap/three').MeshmapObject} object
     * @param {{ count: number, start: number | null, step: number | null }} snapshots
     * @returns {import('./player.js').Motion}
     */
    #snapshots(object, { count, start, step }) {
        // Files can have any numbers here.
        const hasTime = step !== null && step > 0 && Math.abs(start ?? 0) < LONGEST && step * count < LONGEST;
        const seconds = hasTime ? step : USUAL_STEP;
        return {
            frames: count - 1,
            step: seconds,
            period: count * seconds,
            show: async (frame) => {
                await object.setSnapshot(frame);
                if (this.#object === object) this.on.onSnapshot();
            },
            label: (frame) => {
                const time = hasTime ? `${((start ?? 0) + frame * seconds).toFixed(3)} s, ` : '';
                return `${time}${number.format(Math.floor(frame) + 1)} of ${number.format(count)}`;
            },
        };
    }

    /**
     * @param {import('three').AnimationClip} clip
     * @returns {import('./player.js').Motion}
     */
    #clip(clip) {
        const frames = Math.max(0, (clip.tracks[0]?.times.length ?? 1) - 1);
        const isPlain = clip.duration > 0 && clip.duration < LONGEST;
        const step = isPlain && frames > 0 ? clip.duration / frames : USUAL_STEP;
        return {
            frames,
            step,
            period: Math.max(1, frames) * step,
            show: (frame) => this.stage?.pose(Math.min(clip.duration, frame * step)),
            label: (frame) => `${(frame * step).toFixed(3)} s, ${number.format(Math.floor(frame + 1e-6) + 1)} of ${number.format(frames + 1)}`,
        };
    }

    #report() {
        const { motion, frame, isPlaying, rate } = this.player;
        the('seek').disabled = the('before').disabled = the('after').disabled = !motion;
        the('seek').max = motion?.frames ?? 1;
        the('seek').value = frame;
        the('moment').textContent = motion ? motion.label(frame) : '';
        the('rate').textContent = isPlaying && rate > 0 ? `drawn ${number.format(rate)}/s` : '';
        the('seek').setAttribute('aria-valuetext', the('moment').textContent);
        the('playing').setAttribute('aria-pressed', String(isPlaying));
        the('playing').textContent = isPlaying ? 'Pause' : 'Play';
    }
}
