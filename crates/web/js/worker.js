// The thread that reads: files are opened and jobs run here, and arrays are transferred without a copy.
import { CoreFile, load } from './core.js';
import { MeshmapError } from './error.js';

/** @type {Map<number, CoreFile>} */
const files = new Map();
/** @type {Map<number, AbortController>} */
const running = new Map();

/** @param {any} message @param {Transferable[]} [transfer] */
const post = (message, transfer = []) => /** @type {any} */ (self).postMessage(message, transfer);

self.onmessage = async ({ data }) => {
    const { id, op, file: number, source, options, job, args } = data;
    if (op === 'load') {
        // Opening a file reports the error.
        load(data.wasm).catch(() => {});
        return;
    }
    if (op === 'abort') {
        running.get(id)?.abort();
        return;
    }
    if (op === 'close') {
        files.get(number)?.close();
        files.delete(number);
        return;
    }
    const controller = new AbortController();
    running.set(id, controller);
    try {
        if (op === 'open') {
            const onFetch = (/** @type {unknown} */ stats) => post({ file: number, stats });
            const { file, info } = await CoreFile.open(source, options, controller.signal, onFetch);
            files.set(number, file);
            post({ id, value: info, arrays: [], stats: file.stats });
            return;
        }
        const file = files.get(number);
        if (!file) throw new MeshmapError('cancelled', 'the file is closed');
        const { value, arrays } = await file.run(job, args, controller.signal);
        const transfer = arrays.map((array) => array.buffer);
        post({ id, value, arrays, stats: file.stats }, transfer);
    } catch (error) {
        const isAbort = controller.signal.aborted;
        const told = error instanceof MeshmapError ? error : new MeshmapError('crash', String(error));
        post({ id, error: isAbort ? null : told.toJSON(), isAbort, stats: files.get(number)?.stats ?? told.stats });
    } finally {
        running.delete(id);
    }
};
