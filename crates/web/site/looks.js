// The ways in which meshes are drawn, and the materials for each.
import {
    CanvasTexture, Color, DoubleSide, Mesh, MeshBasicMaterial, MeshNormalMaterial, MeshStandardMaterial, RepeatWrapping, SRGBColorSpace, SkinnedMesh,
} from 'three';

/** @typedef {'shaded' | 'wireframe' | 'normals' | 'uv' | 'materials'} Look */

/** The colour of surfaces that have no colour here: the first that the library gives to materials. */
const CLAY = 0xc9c4bc;

/** Draws the meshes of an object in one way. */
export class Looks {
    /** The materials of the file, which other looks replace. @type {Map<any, any>} */
    #own = new Map();
    /** Materials of other looks, by their names. @type {Map<string, import('three').Material>} */
    #made = new Map();
    /** Lines over meshes. @type {import('three').Mesh[]} */
    #lines = [];

    /**
     * Dresses the meshes of an object, which may have been dressed before, or have come since.
     *
     * @param {import('three').Object3D} object
     * @param {Look} look
     * @param {boolean} isFromTop `true` if V counts from the upper edge of images.
     */
    dress(object, look, isFromTop) {
        this.undress();
        if (look === 'shaded') return;
        const numbers = new Map();
        for (const mesh of /** @type {any[]} */ ([...object.children])) {
            if (!mesh.isMesh) continue;
            this.#own.set(mesh, mesh.material);
            const own = [mesh.material].flat();
            const made = own.map((/** @type {any} */ material) => {
                const key = mesh.userData.meshmap?.material ?? material;
                if (!numbers.has(key)) numbers.set(key, numbers.size);
                return this.#material(look, { isFlat: material.flatShading, hasUv: mesh.geometry.hasAttribute('uv'), number: numbers.get(key), isFromTop });
            });
            mesh.material = made.length === 1 ? made[0] : made;
            if (look === 'wireframe') this.#addLines(mesh);
        }
    }

    /** Gives meshes their own materials again. Meshes that are not shown any more are forgotten. */
    undress() {
        for (const [mesh, material] of this.#own) {
            mesh.material = material;
        }
        this.#own.clear();
        for (const lines of this.#lines) lines.removeFromParent();
        this.#lines = [];
    }

    /** @param {any} mesh */
    #addLines(mesh) {
        const material = this.#keep('lines', () => new MeshBasicMaterial({ color: 0x17191c, wireframe: true, transparent: true, opacity: 0.55 }));
        /** @type {any} */
        let lines = new Mesh(mesh.geometry, material);
        if (mesh.isSkinnedMesh) {
            lines = new SkinnedMesh(mesh.geometry, material);
            lines.bind(mesh.skeleton, mesh.bindMatrix);
            lines.frustumCulled = false;
        }
        lines.raycast = () => {};
        mesh.add(lines);
        this.#lines.push(lines);
    }

    /**
     * @param {Look} look
     * @param {{ isFlat: boolean, hasUv: boolean, number: number, isFromTop: boolean }} of
     */
    #material(look, { isFlat, hasUv, number, isFromTop }) {
        const flat = isFlat ? ' flat' : '';
        const clay = (/** @type {import('three').ColorRepresentation} */ color) => new MeshStandardMaterial({
            color, side: DoubleSide, roughness: 0.8, flatShading: isFlat, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
        });
        if (look === 'normals') return this.#keep(`normals${flat}`, () => normals(isFlat));
        if (look === 'materials') {
            // Neighbours in the list are far apart on the circle of colours.
            const color = new Color().setHSL(number * 0.618034 % 1, 0.55, 0.6, SRGBColorSpace);
            return this.#keep(`material ${number}${flat}`, () => clay(color));
        }
        if (look === 'uv' && hasUv) {
            return this.#keep(`uv ${isFromTop}`, () => {
                const map = squares();
                map.flipY = !isFromTop;
                return new MeshBasicMaterial({ map, side: DoubleSide });
            });
        }
        return this.#keep(`clay${flat}`, () => clay(CLAY));
    }

    /**
     * @param {string} name
     * @param {() => import('three').Material} make
     */
    #keep(name, make) {
        let material = this.#made.get(name);
        if (!material) {
            material = make();
            this.#made.set(name, material);
        }
        return material;
    }
}

/** Normals as the file has them, in the space of the scene: red to the right, green up, blue to the front. @param {boolean} isFlat */
function normals(isFlat) {
    const material = new MeshNormalMaterial({ side: DoubleSide, flatShading: isFlat });
    material.onBeforeCompile = (shader) => {
        let { fragmentShader } = shader;
        // Not turned to whoever looks at the back.
        if (!isFlat) fragmentShader = fragmentShader.replace('#include <normal_fragment_begin>', 'vec3 normal = normalize( vNormal );');
        shader.fragmentShader = fragmentShader.replace('normalize( normal )', 'normalize( ( vec4( normal, 0.0 ) * viewMatrix ).xyz )');
    };
    return material;
}

/** A board of named squares, whose colours are U as red and V as green. */
function squares() {
    const COUNT = 8;
    const side = 64;
    const canvas = Object.assign(document.createElement('canvas'), { width: COUNT * side, height: COUNT * side });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.font = `600 ${side * 0.36}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (let row = 0; row < COUNT; row += 1) {
        for (let column = 0; column < COUNT; column += 1) {
            const light = (row + column) % 2 ? 60 : 130;
            const share = (/** @type {number} */ index) => Math.round(light + (255 - light) * index / (COUNT - 1) * 0.8);
            context.fillStyle = `rgb(${share(column)}, ${share(row)}, ${light})`;
            context.fillRect(column * side, row * side, side, side);
            context.fillStyle = light > 100 ? '#17191c' : '#ffffff';
            context.fillText(`${'ABCDEFGH'[row]}${column + 1}`, (column + 0.5) * side, (row + 0.5) * side);
        }
    }
    const map = new CanvasTexture(canvas);
    map.colorSpace = SRGBColorSpace;
    map.wrapS = RepeatWrapping;
    map.wrapT = RepeatWrapping;
    map.anisotropy = 4;
    return map;
}
