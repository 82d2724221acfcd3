import { AmbientLight, AnimationMixer, Box3, DirectionalLight, Group, PerspectiveCamera, Scene, Sphere, Spherical, Vector3, WebGLRenderer } from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { SkeletonLines } from './skeleton.js';

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
        /** When the animation was drawn last, in milliseconds. */
        this.drawn = 0;
        /** @type {AnimationMixer | null} */
        this.mixer = null;
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
        this.draw();
    }

    /** Shows an object in place of another one, or nothing. @param {import('meshmap/three').MeshmapObject | null} object */
    show(object) {
        if (this.object) this.turned.remove(this.object);
        this.bones(null);
        this.mixer?.stopAllAction();
        this.mixer = null;
        this.object = object;
        if (object) this.turned.add(object);
        this.fit();
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

    /** Plays an animation, or none. @param {import('three').AnimationClip | null} clip */
    play(clip) {
        this.mixer?.stopAllAction();
        this.mixer = null;
        if (clip && this.object) {
            this.mixer = new AnimationMixer(this.object);
            this.mixer.clipAction(clip).play();
            this.drawn = performance.now();
        }
        this.draw();
    }

    /** Turns what has Z up. @param {boolean} isTurned */
    turn(isTurned) {
        this.turned.rotation.x = isTurned ? -Math.PI / 2 : 0;
        this.fit();
    }

    /** A sphere around what is drawn: the meshes in their bind pose, or else the joints. */
    bounds() {
        this.scene.updateMatrixWorld(true);
        const box = new Box3();
        this.object?.traverse((/** @type {any} */ part) => {
            const own = part.geometry?.boundingBox;
            if (!part.visible || !own || own.isEmpty()) return;
            const bound = part.isSkinnedMesh ? own.clone().applyMatrix4(part.bindMatrix) : own.clone();
            box.union(bound.applyMatrix4(part.matrixWorld));
        });
        if (box.isEmpty() && this.lines) box.setFromPoints(this.lines.places());
        const sphere = box.isEmpty() ? new Sphere(new Vector3(), 1) : box.getBoundingSphere(new Sphere());
        const isUsable = Number.isFinite(sphere.radius) && sphere.center.toArray().every(Number.isFinite);
        return isUsable ? sphere : sphere.set(new Vector3(), 1);
    }

    /** All of the object, seen from the front. */
    fit() {
        const sphere = this.bounds();
        const radius = Math.max(sphere.radius, 1e-9);
        const half = Math.min(this.camera.fov, this.camera.fov * this.camera.aspect) * Math.PI / 360;
        const distance = radius / Math.sin(half) * 1.05;
        this.camera.near = distance / 1000;
        this.camera.far = distance * 100;
        this.camera.updateProjectionMatrix();
        this.controls.target.copy(sphere.center);
        this.camera.position.copy(sphere.center).add(new Vector3(0.55, 0.4, 1).normalize().multiplyScalar(distance));
        this.controls.update();
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
        if (this.frame) return;
        this.frame = requestAnimationFrame(() => {
            this.frame = 0;
            const now = performance.now();
            this.mixer?.update((now - this.drawn) / 1000);
            this.drawn = now;
            if (this.lines) {
                this.scene.updateMatrixWorld();
                this.lines.update();
            }
            this.renderer.render(this.scene, this.camera);
            if (this.mixer) this.draw();
        });
    }
}
