import { RepeatWrapping, SRGBColorSpace, TextureLoader } from 'three';

/** The images that the meshes of a file name, each loaded once. */
export class Textures {
    /** By address. @type {Map<string, Promise<import('three').Texture | null>>} */
    #loaded = new Map();
    /** @type {string | null} */
    #base;
    /** @type {boolean} */
    #isFromTop;
    /** @type {import('three').LoadingManager | undefined} */
    #manager;

    /**
     * @param {string | null} base The address to which names are relative.
     * @param {boolean} isFromTop `true` if V counts from the upper edge of images.
     * @param {import('three').LoadingManager} [manager]
     */
    constructor(base, isFromTop, manager) {
        this.#base = base;
        this.#isFromTop = isFromTop;
        this.#manager = manager;
    }

    /**
     * Shows the image that a mesh names on its material; without one, or if it cannot be loaded, the material stays as it is.
     *
     * @param {import('./index.js').ShapeMesh} mesh
     * @param {import('three').Object3D} object
     */
    async show({ texture, attributes }, object) {
        const { material } = /** @type {import('three').Mesh<import('three').BufferGeometry, import('three').MeshStandardMaterial>} */ (object);
        if (this.#base === null || !texture || !attributes.texcoord || Array.isArray(material)) return;
        // The name is relative and stays below the folder, but some of its characters have a meaning in addresses.
        const address = new URL(texture.split('/').map(encodeURIComponent).join('/'), this.#base).href;
        let image = this.#loaded.get(address);
        if (!image) {
            image = this.#load(address);
            this.#loaded.set(address, image);
        }
        const map = await image;
        if (!map) return;
        material.map = map;
        material.color.set(0xffffff);
        material.needsUpdate = true;
    }

    /** @param {string} address */
    async #load(address) {
        try {
            const map = await new TextureLoader(this.#manager).loadAsync(address);
            map.colorSpace = SRGBColorSpace;
            map.wrapS = RepeatWrapping;
            map.wrapT = RepeatWrapping;
            map.flipY = !this.#isFromTop;
            return map;
        } catch {
            // Many names are of images that are not there.
            return null;
        }
    }

    dispose() {
        for (const image of this.#loaded.values()) void image.then((map) => map?.dispose());
        this.#loaded.clear();
    }
}
