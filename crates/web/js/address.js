/** The beginning of an address with a user or a password. */
const USER = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i;

/** An address in a text. */
const ADDRESS = /[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>]*/gi;

/**
 * An address as messages show it: without its user, its password and its query, which may be a signature. A `data:` address is its file,
 * and is not shown.
 *
 * @param {string} address
 */
export function withoutSecrets(address) {
    if (/^data:/i.test(address)) return 'data:..';
    const end = address.search(/[?#]/);
    const shown = end < 0 ? address : `${address.slice(0, end)}?..`;
    return shown.replace(USER, '$1');
}

/**
 * A text, in which no address has secrets: browsers and Node put addresses into their messages.
 *
 * @param {string} text
 */
export const withoutSecretsIn = (text) => text.replace(ADDRESS, withoutSecrets);
