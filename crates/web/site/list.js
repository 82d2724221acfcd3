/**
 * A file that can be chosen: at a URL, or on the user's disk.
 *
 * @typedef {{ name: string, source: string | File }} Listed
 */

/** The list of files, of which one is shown. It is hidden unless there are several. */
export class FileList {
    /** @type {Listed[]} */
    #served = [];
    /** @type {Listed[]} */
    #files = [];

    /**
     * @param {HTMLElement} section
     * @param {HTMLSelectElement} select
     * @param {(file: Listed) => void} onChoose
     */
    constructor(section, select, onChoose) {
        this.section = section;
        this.select = select;
        select.addEventListener('change', () => onChoose(this.#files[select.selectedIndex]));
    }

    /** Lists the files of `meshmap view`, which stay in the list. @param {{ name: string, url: string }[]} files */
    serve(files) {
        this.#served = files.map(({ name, url }) => ({ name, source: url }));
        this.#show(this.#served);
    }

    /** Lists files of the user's disk, in place of earlier ones. Returns the first of them by name. @param {File[]} files */
    add(files) {
        const added = files.map((file) => ({ name: file.name, source: file }));
        added.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
        this.#show([...this.#served, ...added]);
        return added[0];
    }

    /** @param {Listed[]} files */
    #show(files) {
        this.#files = files;
        this.select.replaceChildren(...files.map(({ name }) => Object.assign(document.createElement('option'), { textContent: name })));
        this.select.size = Math.min(8, Math.max(2, files.length));
        this.section.hidden = files.length < 2;
    }

    /** Marks the file from a source as the one that is shown. Returns it if it is in the list. @param {string | File} source */
    mark(source) {
        const index = this.#files.findIndex((file) => file.source === source);
        this.select.selectedIndex = index;
        return this.#files[index];
    }
}
