/**
 * The beginning of a URL: its scheme, and its host and port with the user and the password. Browsers accept any number of slashes and
 * backslashes before the host of a web page.
 */
const OF_WEB = /^(https?):[/\\]+([^/\\?#]*)/i;
const OF_OTHERS = /^([a-z][a-z0-9+.-]+):\/\/?([^/\\?#]*)/i;

/** @param {string} text */
const beginningOf = (text) => OF_WEB.exec(text) ?? OF_OTHERS.exec(text);

/** A host with a port. Anything else may be a user and the beginning of a password. */
const HOST = /^(\[[^\]]*\]|[^:]*)(:\d*)?$/;

/** Parameters of a query that are the version of an object of S3, Google Cloud and Azure. They are not secrets, and distinguish files. */
const VERSION = /^(versionid|generation|snapshot)=/i;

/** A URL in a text. */
const IN_TEXT = /[a-z][a-z0-9+.-]+:\/\/[^\s"'`<>]*/gi;

/**
 * The URL of a file. It prints without its user, its password, its query and its fragment, in messages and in the console, so that no log has
 * the signature of a presigned URL by accident. `?..` is in place of a query, except for the version of an object.
 */
export class RemoteUrl {
    /** @type {string} */
    #text;

    /** @param {string | URL | RemoteUrl} url */
    constructor(url) {
        this.#text = url instanceof RemoteUrl ? url.withSecrets() : String(url);
    }

    /**
     * The whole text, which may have a password or a signature: for requests, and never for messages, names or logs.
     *
     * @returns {string}
     */
    withSecrets() {
        return this.#text;
    }

    /** The name of the file: the last part of the path, as it is encoded. Empty for a folder, whose path ends with a slash. */
    get name() {
        const shown = this.toString();
        if (/^data:/i.test(this.#text) || shown.endsWith('://..')) return '';
        const path = shown.slice(beginningOf(shown)?.[0].length ?? 0).replace(/\?.*$/s, '');
        return path.split(/[/\\]/).at(-1) ?? '';
    }

    /** The printed text. A `data:` URL is its file, and is not printed. */
    toString() {
        const text = this.#text;
        if (/^data:/i.test(text)) return 'data:..';
        const beginning = beginningOf(text);
        if (!beginning) return withMark(text);
        const [all, scheme, authority] = beginning;
        const host = authority.slice(authority.lastIndexOf('@') + 1);
        if (!HOST.test(host)) return `${scheme}://..`;
        return `${scheme}://${host}${withMark(text.slice(all.length))}`;
    }

    toJSON() {
        return this.toString();
    }

    /** The text that Node prints. */
    [Symbol.for('nodejs.util.inspect.custom')]() {
        return `RemoteUrl(${JSON.stringify(this.toString())})`;
    }
}

/**
 * A path with a mark in place of its query and its fragment.
 *
 * @param {string} path
 */
function withMark(path) {
    const plain = path.replace(/#.*$/s, '');
    const mark = plain.indexOf('?');
    if (mark < 0) return plain;
    const pairs = plain.slice(mark + 1).split('&');
    const kept = pairs.filter((pair) => VERSION.test(pair));
    if (kept.length < pairs.length) kept.push('..');
    return `${plain.slice(0, mark)}?${kept.join('&')}`;
}

/**
 * A text, in which no URL has secrets: browsers and Node put URLs into their messages.
 *
 * @param {string} text
 */
export const withoutSecretsIn = (text) => text.replace(IN_TEXT, (url) => String(new RemoteUrl(url)));

/**
 * A URL, relative to a base if there is one; null if the text is none.
 *
 * @param {string} text
 * @param {string | URL} [base]
 */
export function parsed(text, base) {
    try {
        return new URL(text, base);
    } catch {
        return null;
    }
}
