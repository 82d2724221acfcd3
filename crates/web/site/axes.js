import { CanvasTexture, Color, Group, Line, LineBasicMaterial, BufferGeometry, SRGBColorSpace, Sprite, SpriteMaterial, Vector3 } from 'three';

/** The axes X, Y and Z from the origin, in red, green and blue, with their letters. They are drawn over everything. */
export class Axes extends Group {
    /** @param {number} length */
    constructor(length) {
        super();
        const rows = /** @type {[string, number, [number, number, number]][]} */ ([['X', 0xd6342f, [1, 0, 0]], ['Y', 0x2f9e44, [0, 1, 0]], ['Z', 0x2b6fd6, [0, 0, 1]]]);
        for (const [name, color, direction] of rows) {
            const end = new Vector3(...direction).multiplyScalar(length);
            const geometry = new BufferGeometry().setFromPoints([new Vector3(), end]);
            const line = new Line(geometry, new LineBasicMaterial({ color, depthTest: false, transparent: true }));
            const letter = new Sprite(new SpriteMaterial({ map: letterOf(name, new Color(color)), depthTest: false, sizeAttenuation: false, transparent: true }));
            letter.position.copy(end).multiplyScalar(1.06);
            letter.scale.setScalar(0.045);
            for (const part of [line, letter]) part.renderOrder = 2;
            this.add(line, letter);
        }
    }

    dispose() {
        for (const part of /** @type {any[]} */ (this.children)) {
            part.geometry.dispose();
            part.material.map?.dispose();
            part.material.dispose();
        }
    }
}

/** @param {string} name @param {Color} color */
function letterOf(name, color) {
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 64 });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.font = '600 48px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillStyle = `#${color.getHexString(SRGBColorSpace)}`;
    context.fillText(name, 32, 34);
    const map = new CanvasTexture(canvas);
    map.colorSpace = SRGBColorSpace;
    return map;
}
