import {
    AmbientLight, AnimationMixer, Box3, DirectionalLight, GridHelper, Group, PerspectiveCamera, Quaternion, Scene, Sphere, Spherical, Vector3, WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { Axes } from './axes.js';
import { Looks } from './looks.js';
import { SkeletonLines } from './skeleton.js';

/** The angles about X and Z that turn each axis so that it points up. @type {Record<string, [number, number]>} */
const UPRIGHT = { x: [0, 90], y: [0, 0], z: [-90, 0], '-x': [0, -90], '-y': [180, 0], '-z': [90, 0] };
/** The number of moments of an animation that are looked at to see how much room it needs. */
const MOMENTS = 8;
/** Meshes of more vertices are not moved to see how much room they need. */
const MOST_VERTICES = 200_000;

/** The picture: a scene with one object, drawn when something has changed. */
export class Stage {
    /**
     * @param {HTMLElement} view
     * @param {HTMLCanvasElement} canvas
     */
    constructor(view, canvas) {
        this.view = view;
        this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
        this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
        this.scene = new Scene();
        this.turned = new Group();
        this.scene.add(this.turned, new AmbientLight(0xffffff, 1.1));
        this.camera = new PerspectiveCamera(40, 1, 0.01, 100);
        const light = new DirectionalLight(0xffffff, 2.4);
        light.position.set(0.4, 0.8, 1);
        this.camera.add(light);
        this.scene.add(this.camera);
        this.controls = new OrbitControls(this.camera, canvas);
        this.controls.addEventListener('change', () => this.draw());
        this.looks = new Looks();
        /** @type {import('./looks.js').Look} */
        this.look = 'shaded';
        /** @type {GridHelper | null} */
        this.grid = null;
        /** @type {Axes | null} */
        this.axes = null;
        this.wantsGrid = false;
        this.wantsAxes = false;
        /** The side of the squares of the grid; 0 without one. */
        this.square = 0;
        /** @type {import('three').AnimationAction | null} */
        this.action = null;
        /** @type {import('meshmap/three').MeshmapObject | null} */
        this.object = null;
        /** @type {SkeletonLines | null} */
        this.lines = null;
        this.frame = 0;
        new ResizeObserver(() => this.resize()).observe(view);
        view.addEventListener('keydown', (event) => this.key(event));
    }

    resize() {
        const { clientWidth: width, clientHeight: height } = this.view;
        if (!width || !height) return;
        this.renderer.setSize(width, height, false);
        this.camera.aspect = width / height;
        this.camera.updateProjectionMatrix();
        this.dressPoints();
        this.draw();
    }

    /** Shows an object in place of another one, or nothing. @param {import('meshmap/three').MeshmapObject | null} object */
    show(object) {
        this.looks.undress();
        if (this.object) this.turned.remove(this.object);
        this.bones(null);
        this.action = null;
        this.object = object;
        this.turned.quaternion.identity();
        if (object) this.turned.add(object);
        this.dress();
        this.fit();
    }

    /** Draws the meshes in the chosen look: after another one is chosen, and after meshes have come. */
    dress() {
        if (this.object) this.looks.dress(this.object, this.look, this.object.file.info.conventions.vOrigin === 'top');
        this.dressPoints();
        this.draw();
    }

    /** Makes points as wide as in pictures of `meshmap render`: together they cover about a quarter of the picture. */
    dressPoints() {
        const side = Math.min(this.view.clientWidth, this.view.clientHeight);
        this.object?.traverse((/** @type {any} */ part) => {
            if (!part.isPoints) return;
            const count = Math.max(1, part.geometry.getAttribute('position').count);
            const width = Math.sqrt(side * side / (4 * count));
            // As clay in shadow, which is seen on a light ground and on a dark one.
            if (!part.material.vertexColors) part.material.color.set(0x8a857e);
            part.material.size = Math.max(1.5, Math.min(side / 51, Math.max(side / 341, width)));
        });
    }

    /** Draws the joints of a skeleton, or none. @param {import('three').Skeleton | null} skeleton */
    bones(skeleton) {
        if (this.lines) {
            this.scene.remove(this.lines);
            this.lines.dispose();
        }
        this.lines = skeleton && new SkeletonLines(skeleton.bones);
        if (!this.lines) return this.draw();
        this.scene.add(this.lines);
        this.lines.size = this.bounds().radius / 80;
        this.draw();
    }

    /** Sets the animation that moves the joints; without one they stand in the bind pose. @param {import('three').AnimationClip | null} clip */
    animate(clip) {
        this.action?.getMixer().stopAllAction();
        this.action = null;
        if (clip && this.object) {
            this.action = new AnimationMixer(this.object).clipAction(clip);
            this.action.play();
            this.pose(0);
            this.makeRoom();
        }
        this.draw();
    }

    /** Moves the joints to where they are at a time of the animation. @param {number} seconds */
    pose(seconds) {
        if (!this.action) return;
        this.action.time = seconds;
        this.action.getMixer().update(0);
        this.draw();
    }

    /** Turns the object so that this axis of the file points up. @param {string} up */
    turn(up) {
        const own = this.object?.scene?.up ?? 'y';
        this.turned.quaternion.copy(upright(up)).multiply(upright(own).invert());
        this.fit();
    }

    /** A box around what is drawn: the meshes as they stand, or else the joints. */
    box() {
        this.scene.updateMatrixWorld(true);
        const box = new Box3();
        const isMoved = this.action !== null && this.countVertices() <= MOST_VERTICES;
        this.object?.traverse((/** @type {any} */ part) => {
            if (!part.visible) return;
            const own = part.isSkinnedMesh && isMoved ? moved(part) : part.geometry?.boundingBox;
            if (!own || own.isEmpty()) return;
            const bound = part.isSkinnedMesh && !isMoved ? own.clone().applyMatrix4(part.bindMatrix) : own.clone();
            box.union(bound.applyMatrix4(part.matrixWorld));
        });
        if (box.isEmpty() && this.lines) box.setFromPoints(this.lines.places());
        return box;
    }

    countVertices() {
        let count = 0;
        this.object?.traverse((/** @type {any} */ part) => {
            count += part.geometry?.getAttribute('position')?.count ?? 0;
        });
        return count;
    }

    /** Moves the camera back if an animation needs more room than the picture shows. */
    makeRoom() {
        const { action } = this;
        if (!action || this.countVertices() > MOST_VERTICES) return;
        const box = this.box();
        for (let moment = 1; moment <= MOMENTS; moment += 1) {
            this.pose(action.getClip().duration * moment / MOMENTS);
            box.union(this.box());
        }
        this.pose(0);
        const sphere = box.getBoundingSphere(new Sphere());
        const isUsable = Number.isFinite(sphere.radius) && !box.isEmpty();
        if (isUsable && sphere.radius > this.bounds().radius * 1.05) this.fit(sphere);
    }

    /** The sides of the box around what is drawn: wide, high and deep. Empty if nothing is drawn. @returns {number[]} */
    sides() {
        const box = this.box();
        return box.isEmpty() ? [] : box.getSize(new Vector3()).toArray();
    }

    /** A sphere around what is drawn. */
    bounds() {
        const box = this.box();
        const sphere = box.isEmpty() ? new Sphere(new Vector3(), 1) : box.getBoundingSphere(new Sphere());
        const isUsable = Number.isFinite(sphere.radius) && sphere.center.toArray().every(Number.isFinite);
        if (!isUsable) return sphere.set(new Vector3(), 1);
        // Points or joints in one place: the smallest difference between numbers of this size that can be seen, but a unit at the origin.
        if (sphere.radius === 0) sphere.radius = sphere.center.length() * 1e-3 || 1;
        return sphere;
    }

    /** All of the object, seen from the front. @param {Sphere} [sphere] The room that is shown. */
    fit(sphere = this.bounds()) {
        const radius = Math.max(sphere.radius, 1e-9);
        const half = Math.min(this.camera.fov, this.camera.fov * this.camera.aspect) * Math.PI / 360;
        const distance = radius / Math.sin(half) * 1.05;
        this.camera.near = distance / 1000;
        this.camera.far = distance * 100;
        this.camera.updateProjectionMatrix();
        this.controls.target.copy(sphere.center);
        this.camera.position.copy(sphere.center).add(new Vector3(0.55, 0.4, 1).normalize().multiplyScalar(distance));
        this.controls.update();
        this.measure();
    }

    /** Draws the grid on the ground below the object, and the axes at the origin, if they are wanted. */
    measure() {
        for (const helper of [this.grid, this.axes]) {
            if (helper) this.scene.remove(helper);
            helper?.dispose();
        }
        this.grid = null;
        this.axes = null;
        const { center, radius } = this.bounds();
        const size = Math.max(radius, 1e-9);
        this.square = 0;
        if (this.wantsGrid) {
            this.square = roundedLength(size / 5);
            const count = 2 * Math.ceil(size * 2 / this.square);
            this.grid = new GridHelper(count * this.square, count, 0x8a9099, 0x8a9099);
            this.grid.material.transparent = true;
            this.grid.material.opacity = 0.45;
            const box = this.box();
            const ground = box.isEmpty() ? center.y - size : box.min.y;
            const middle = (/** @type {number} */ at) => Math.round(at / this.square) * this.square;
            this.grid.position.set(middle(center.x), ground, middle(center.z));
            this.scene.add(this.grid);
        }
        if (this.wantsAxes) {
            this.axes = new Axes(size);
            // The axes of the file, which the object is turned by.
            this.axes.quaternion.copy(this.turned.quaternion).multiply(this.object?.quaternion ?? new Quaternion());
            this.scene.add(this.axes);
        }
        this.draw();
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const offset = this.camera.position.clone().sub(this.controls.target);
        const at = new Spherical().setFromVector3(offset);
        const step = Math.PI / 24;
        switch (event.key) {
            case 'ArrowLeft': at.theta -= step; break;
            case 'ArrowRight': at.theta += step; break;
            case 'ArrowUp': at.phi -= step; break;
            case 'ArrowDown': at.phi += step; break;
            case '+': case '=': at.radius /= 1.15; break;
            case '-': at.radius *= 1.15; break;
            case 'Home': this.fit(); event.preventDefault(); return;
            default: return;
        }
        event.preventDefault();
        this.camera.position.copy(this.controls.target).add(offset.setFromSpherical(at.makeSafe()));
        this.controls.update();
        this.draw();
    }

    draw() {
        this.frame ||= requestAnimationFrame(() => {
            this.frame = 0;
            this.drawNow();
        });
    }

    drawNow() {
        if (this.lines) {
            this.scene.updateMatrixWorld();
            this.lines.update();
        }
        this.renderer.render(this.scene, this.camera);
    }

    /** The picture as a PNG, on the ground that the page has. @returns {Promise<Blob | null>} */
    picture() {
        this.drawNow();
        const canvas = this.renderer.domElement;
        const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
        const context = copy.getContext('2d');
        if (!context) return Promise.resolve(null);
        context.fillStyle = getComputedStyle(this.view).backgroundColor;
        context.fillRect(0, 0, copy.width, copy.height);
        context.drawImage(canvas, 0, 0);
        return new Promise((resolve) => copy.toBlob(resolve, 'image/png'));
    }
}

/** The turn after which an axis points up. @param {string} axis */
function upright(axis) {
    const [x, z] = UPRIGHT[axis] ?? [0, 0];
    const about = (/** @type {Vector3} */ of, /** @type {number} */ angle) => new Quaternion().setFromAxisAngle(of, angle * Math.PI / 180);
    return about(new Vector3(1, 0, 0), x).multiply(about(new Vector3(0, 0, 1), z));
}

/** The box around a mesh whose joints have moved it. @param {import('three').SkinnedMesh} mesh */
function moved(mesh) {
    mesh.computeBoundingBox();
    const { boundingBox } = mesh;
    // Otherwise it would be used for culling in other poses.
    /** @type {any} */ (mesh).boundingBox = null;
    return boundingBox;
}

/** The length below another one that is 1, 2 or 5 times a power of ten. @param {number} length */
function roundedLength(length) {
    const power = 10 ** Math.floor(Math.log10(length));
    const share = length / power;
    return power * (share >= 5 ? 5 : share >= 2 ? 2 : 1);
}
