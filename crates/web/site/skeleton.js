import { BufferAttribute, BufferGeometry, LineBasicMaterial, LineSegments, Vector3 } from 'three';

/** Lines from each joint to its parent, and a cross at each joint, drawn over the meshes. */
export class SkeletonLines extends LineSegments {
    /** @param {import('three').Bone[]} bones */
    constructor(bones) {
        const geometry = new BufferGeometry();
        // Three lines for the cross and one to the parent, of two points each.
        geometry.setAttribute('position', new BufferAttribute(new Float32Array(bones.length * 8 * 3), 3));
        super(geometry, new LineBasicMaterial({ color: 0xe8590c, depthTest: false, depthWrite: false, transparent: true }));
        this.bones = bones;
        /** Half the length of a cross. */
        this.size = 0;
        this.frustumCulled = false;
        this.renderOrder = 1;
    }

    /** Places of the joints in the scene. */
    places() {
        return this.bones.map((bone) => new Vector3().setFromMatrixPosition(bone.matrixWorld));
    }

    /** Follows the joints. */
    update() {
        const places = this.places();
        const index = new Map(this.bones.map((bone, number) => [/** @type {unknown} */ (bone), number]));
        const position = this.geometry.getAttribute('position');
        const array = /** @type {Float32Array} */ (position.array);
        this.bones.forEach(({ parent }, number) => {
            const place = places[number];
            const above = index.get(parent);
            const points = [place, above === undefined ? place : places[above]];
            for (const axis of [0, 1, 2]) {
                for (const side of [-this.size, this.size]) points.push(place.clone().setComponent(axis, place.getComponent(axis) + side));
            }
            points.forEach((point, at) => point.toArray(array, (number * 8 + at) * 3));
        });
        position.needsUpdate = true;
    }

    dispose() {
        this.geometry.dispose();
        /** @type {LineBasicMaterial} */ (this.material).dispose();
    }
}
