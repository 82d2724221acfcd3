import { RepeatWrapping, SRGBColorSpace, TextureLoader } from 'three';
import { alphaOf } from './alpha.js';

/**
 * An image, and the use of its alpha channel.
 *
 * @typedef {{ map: import('three').Texture, alpha: 'opaque' | 'mask' | 'blend' }} Image
 */

/** The images that the meshes of a file name, each loaded once. */
export class Textures {
    /** By address. @type {Map<string, Promise<Image | null>>} */
    #loaded = new Map();
    /** @type {string | null} */
    #base;
    /** @type {((name: string) => string | null) | null} */
    #addressOf;
    /** @type {boolean} */
    #isFromTop;
    /** @type {import('three').LoadingManager | undefined} */
    #manager;

    /**
     * @param {string | null} base The address to which names are relative.
     * @param {((name: string) => string | null) | null} addressOf Returns the address of the image for a name, in place of `base`.
     * @param {boolean} isFromTop `true` if V counts from the upper edge of images.
     * @param {import('three').LoadingManager} [manager]
     */
    constructor(base, addressOf, isFromTop, manager) {
        this.#base = base;
        this.#addressOf = addressOf;
        this.#isFromTop = isFromTop;
        this.#manager = manager;
    }

    /**
     * Shows the image that a mesh names on its material; without one, or if it cannot be loaded, the material stays as it is. Its alpha channel
     * is used as glTF's `MASK` and `BLEND` are.
     *
     * @param {import('./index.js').ShapeMesh} mesh
     * @param {string | null} name The name of the image in the file.
     * @param {import('three').Object3D} object
     */
    async show(mesh, name, object) {
        const { material } = /** @type {import('three').Mesh<import('three').BufferGeometry, import('three').MeshStandardMaterial>} */ (object);
        const address = this.#find(mesh, name);
        if (address === null || !mesh.attributes.texcoord || Array.isArray(material)) return;
        let image = this.#loaded.get(address);
        if (!image) {
            image = this.#load(address);
            this.#loaded.set(address, image);
        }
        const loaded = await image;
        if (!loaded) return;
        material.map = loaded.map;
        material.color.set(0xffffff);
        if (loaded.alpha === 'mask') material.alphaTest = 0.5;
        if (loaded.alpha === 'blend') {
            material.transparent = true;
            material.depthWrite = false;
        }
        material.needsUpdate = true;
    }

    /**
     * The address of the image of a mesh; null if it has none.
     *
     * @param {import('./index.js').ShapeMesh} mesh
     * @param {string | null} name
     */
    #find({ texture }, name) {
        if (this.#addressOf) return name === null ? null : this.#addressOf(name);
        if (this.#base === null || !texture) return null;
        // The name is relative and stays below the folder, but some of its characters have a meaning in addresses.
        return new URL(texture.split('/').map(encodeURIComponent).join('/'), this.#base).href;
    }

    /**
     * @param {string} address
     * @returns {Promise<Image | null>}
     */
    async #load(address) {
        let map;
        let alpha;
        try {
            map = await new TextureLoader(this.#manager).loadAsync(address);
            // Fails for a damaged image, which is loaded, and cannot be drawn.
            alpha = await alphaOf(/** @type {HTMLImageElement} */ (map.image));
        } catch {
            // Many names are of images that are not there.
            return null;
        }
        map.colorSpace = SRGBColorSpace;
        map.wrapS = RepeatWrapping;
        map.wrapT = RepeatWrapping;
        map.flipY = !this.#isFromTop;
        return { map, alpha };
    }

    dispose() {
        for (const image of this.#loaded.values()) void image.then((loaded) => loaded?.map.dispose());
        this.#loaded.clear();
    }
}
