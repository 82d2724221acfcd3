import {
    Box3, BufferAttribute, BufferGeometry, Color, DoubleSide, Float16BufferAttribute, Mesh, MeshStandardMaterial, Points, PointsMaterial,
    SRGBColorSpace, Sphere, Vector3,
} from 'three';
import { skinnedMesh } from './rig.js';

/** Names of attributes in three.js. */
const NAMES = new Map([
    ['position', 'position'], ['normal', 'normal'], ['tangent', 'tangent'], ['color', 'color'], ['texcoord', 'uv'],
    ['texcoord[1]', 'uv1'], ['texcoord[2]', 'uv2'], ['texcoord[3]', 'uv3'], ['joints', 'skinIndex'], ['weights', 'skinWeight'],
]);

/**
 * A shape as an object of three.js: points, or triangles.
 *
 * @param {import('./index.js').ShapeMesh} mesh
 * @param {{ rig: import('./rig.js').Rig | null, arePoints: boolean } & import('./three.js').LoaderOptions} options
 */
export function objectOf(mesh, { rig, arePoints, keepWinding = false, material: make = materialOf }) {
    const geometry = new BufferGeometry();
    const dequant = mesh.attributes.position?.dequant;
    for (const [semantic, attribute] of Object.entries(mesh.attributes)) {
        const name = NAMES.get(semantic);
        // Shaders take other attributes by the names that glTF gives them.
        const own = name ?? `_${semantic.toLowerCase().replace(/\W+/g, '_')}`;
        geometry.setAttribute(own, attributeOf(attribute, name !== undefined));
    }
    const normal = geometry.getAttribute('normal');
    const { indices } = mesh;
    if (mesh.turnsTriangles && !keepWinding) {
        for (let i = 0; i + 2 < indices.length; i += 3) [indices[i + 1], indices[i + 2]] = [indices[i + 2], indices[i + 1]];
    }
    if (dequant && normal) {
        // The matrix of the mesh transforms normals by its inverse; the normals are prepared for this.
        const [x, y, z] = dequant.scale;
        for (let i = 0; i < normal.count; i += 1) normal.setXYZ(i, normal.getX(i) * x, normal.getY(i) * y, normal.getZ(i) * z);
    }
    if (dequant) {
        geometry.computeBoundingBox();
        geometry.computeBoundingSphere();
    } else {
        setBounds(geometry, mesh.bounds);
    }
    if (arePoints) {
        const points = new Points(geometry, new PointsMaterial({ size: 3, sizeAttenuation: false, vertexColors: geometry.hasAttribute('color') }));
        return place(points, mesh, dequant);
    }
    geometry.setIndex(new BufferAttribute(indices, 1));
    const materials = [];
    for (let i = 0; i < mesh.groups.length; i += 3) {
        const [number, start, count] = mesh.groups.subarray(i, i + 3);
        geometry.addGroup(start, count, materials.length);
        const [red, green, blue] = mesh.colors.subarray(i, i + 3);
        materials.push(make(mesh, number, new Color().setRGB(red / 255, green / 255, blue / 255, SRGBColorSpace)));
    }
    if (materials.length === 1) geometry.clearGroups();
    const material = materials.length === 1 ? materials[0] : materials;
    if (rig && mesh.resting !== null) return place(skinnedMesh(geometry, material, rig, mesh.resting), mesh, dequant);
    return place(new Mesh(geometry, material), mesh, dequant);
}

/**
 * @template {import('three').Object3D} T
 * @param {T} object
 * @param {import('./index.js').ShapeMesh} mesh
 * @param {{ scale: number[], offset: number[] } | null | undefined} dequant
 */
function place(object, mesh, dequant) {
    object.name = mesh.name || mesh.address;
    const { address, material, role, findings } = mesh;
    object.userData.meshmap = { address, material, role, findings };
    if (dequant) {
        object.scale.fromArray(dequant.scale);
        object.position.fromArray(dequant.offset);
    }
    return object;
}

/**
 * @param {import('./index.js').Attribute} attribute
 * @param {boolean} isShaded `true` if shaders of three.js use it, as floats.
 */
function attributeOf({ array, itemSize, type, normalized }, isShaded) {
    if (type === 'f16') return new Float16BufferAttribute(/** @type {Uint16Array} */ (array), itemSize);
    // Integers of 32 bits would go to shaders as such.
    if (isShaded && (type === 'u32' || type === 'i32')) {
        const most = type === 'u32' ? 2 ** 32 - 1 : 2 ** 31 - 1;
        return new BufferAttribute(Float32Array.from(array, (value) => normalized ? Math.max(value / most, -1) : value), itemSize);
    }
    return new BufferAttribute(array, itemSize, normalized);
}

/**
 * The default materials.
 *
 * @type {NonNullable<import('./three.js').LoaderOptions['material']>}
 */
const materialOf = (mesh, _, color) => new MeshStandardMaterial({
    color,
    side: DoubleSide,
    roughness: 0.8,
    vertexColors: mesh.attributes.color !== undefined,
    flatShading: mesh.attributes.normal === undefined,
});

/**
 * @param {BufferGeometry} geometry
 * @param {{ min: number[], max: number[] } | null} bounds
 */
export function setBounds(geometry, bounds) {
    const box = new Box3();
    if (bounds) box.set(new Vector3().fromArray(bounds.min), new Vector3().fromArray(bounds.max));
    geometry.boundingBox = box;
    geometry.boundingSphere = box.isEmpty() ? new Sphere() : box.getBoundingSphere(new Sphere());
}

/**
 * The bounding box of the finite points.
 *
 * @param {import('three').TypedArray} points
 */
export function boundsOf(points) {
    const min = [Infinity, Infinity, Infinity];
    const max = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < points.length; i += 3) {
        if (!Number.isFinite(points[i] + points[i + 1] + points[i + 2])) continue;
        for (let axis = 0; axis < 3; axis += 1) {
            min[axis] = Math.min(min[axis], points[i + axis]);
            max[axis] = Math.max(max[axis], points[i + axis]);
        }
    }
    return min[0] <= max[0] ? { min, max } : null;
}
