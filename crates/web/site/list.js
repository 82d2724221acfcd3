/**
 * A file that can be chosen: at a URL, or on the user's disk.
 *
 * @typedef {{ name: string, source: string | File, images?: string }} Listed
 */

/** Lists shorter than this need no filter. */
const LEAST_FILTERED = 12;

/** The list of files, of which one is shown. Files of one folder are below its name. It is hidden unless there are several files. */
export class FileList {
    /** @type {Listed[]} */
    #served = [];
    /** @type {Listed[]} */
    #files = [];
    /** @type {HTMLElement[]} */
    #items = [];
    #chosen = -1;

    /**
     * @param {HTMLElement} section
     * @param {HTMLElement} list
     * @param {HTMLInputElement} filter
     * @param {(file: Listed) => void} onChoose
     */
    constructor(section, list, filter, onChoose) {
        this.section = section;
        this.list = list;
        this.filter = filter;
        this.onChoose = onChoose;
        list.addEventListener('keydown', (event) => this.#key(event));
        list.addEventListener('click', ({ target }) => {
            const item = /** @type {HTMLElement} */ (target).closest('[role=option]');
            const index = this.#items.indexOf(/** @type {HTMLElement} */ (item));
            if (index >= 0) this.#choose(index);
        });
        filter.addEventListener('input', () => this.#hide());
    }

    /** Lists the files of `meshmap view`, which stay in the list. @param {{ name: string, url: string, images?: string }[]} files */
    serve(files) {
        this.#served = files.map(({ name, url, images }) => ({ name, source: url, images }));
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
        this.#chosen = -1;
        this.filter.value = '';
        this.filter.hidden = files.length < LEAST_FILTERED;
        this.section.hidden = files.length < 2;
        this.list.removeAttribute('aria-activedescendant');
        let folder = '';
        /** @type {HTMLElement[]} */
        const rows = [];
        this.#items = files.map(({ name }, index) => {
            const end = name.lastIndexOf('/') + 1;
            if (name.slice(0, end) !== folder) {
                folder = name.slice(0, end);
                rows.push(row('presentation', folder || './', 'folder'));
            }
            const item = row('option', name.slice(end), 'file');
            item.id = `file-${index}`;
            // The whole name, for what reads the page aloud.
            if (folder) item.setAttribute('aria-label', name);
            item.setAttribute('aria-selected', 'false');
            rows.push(item);
            return item;
        });
        this.list.replaceChildren(...rows);
    }

    /** Hides the names that do not have what the filter says, and folders of which no name is left. */
    #hide() {
        const wanted = this.filter.value.trim().toLowerCase();
        this.#files.forEach(({ name }, index) => {
            this.#items[index].hidden = !name.toLowerCase().includes(wanted);
        });
        for (const folder of this.list.querySelectorAll('.folder')) {
            let next = folder.nextElementSibling;
            while (next?.matches('.file[hidden]')) next = next.nextElementSibling;
            /** @type {HTMLElement} */ (folder).hidden = !next?.matches('.file');
        }
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const shown = this.#items.flatMap((item, index) => item.hidden ? [] : [index]);
        const at = shown.indexOf(this.#chosen);
        const page = Math.max(1, Math.floor(this.list.clientHeight / 32));
        const steps = new Map([['ArrowUp', -1], ['ArrowDown', 1], ['PageUp', -page], ['PageDown', page], ['Home', -Infinity], ['End', Infinity]]);
        const step = steps.get(event.key);
        if (step === undefined || shown.length === 0) return;
        event.preventDefault();
        const next = shown[Math.max(0, Math.min(shown.length - 1, at + step))];
        if (next !== this.#chosen) this.#choose(next);
    }

    /** @param {number} index */
    #choose(index) {
        this.#select(index);
        this.onChoose(this.#files[index]);
    }

    /** @param {number} index */
    #select(index) {
        this.#items[this.#chosen]?.setAttribute('aria-selected', 'false');
        this.#chosen = index;
        const item = this.#items[index];
        if (!item) return this.list.removeAttribute('aria-activedescendant');
        item.setAttribute('aria-selected', 'true');
        this.list.setAttribute('aria-activedescendant', item.id);
        item.scrollIntoView({ block: 'nearest' });
    }

    /** Shows the file before or after the one that is shown. @param {number} step */
    move(step) {
        let next = this.#chosen + step;
        while (this.#items[next]?.hidden) next += step;
        if (this.#files[next]) this.#choose(next);
    }

    /** Marks the file from a source as the one that is shown. Returns it if it is in the list. @param {string | File} source */
    mark(source) {
        const index = this.#files.findIndex((file) => file.source === source);
        if (index !== this.#chosen) this.#select(index);
        return this.#files[index];
    }
}

/** @param {string} role @param {string} text @param {string} name */
function row(role, text, name) {
    const item = document.createElement('li');
    item.setAttribute('role', role);
    item.className = name;
    item.textContent = text;
    return item;
}
