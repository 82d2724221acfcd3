// A mesh file in React Three Fiber. Snapshots of CGeo files and the first animation of IQM files play.
import { Canvas, useFrame, useLoader, useThree } from '@react-three/fiber';
import { Suspense, useEffect, useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { AnimationMixer, Box3, Sphere } from 'three';
import { MeshmapLoader } from 'meshmap/three';

function Model({ url }) {
    // The component is suspended until the first snapshot, the finest level of detail or all meshes are there.
    const object = useLoader(MeshmapLoader, url);
    const mixer = useMemo(() => new AnimationMixer(object), [object]);
    useEffect(() => {
        const [clip] = object.animations;
        if (clip) mixer.clipAction(clip).play();
        return () => mixer.stopAllAction();
    }, [object, mixer]);
    useFrame(({ clock }, delta) => {
        mixer.update(delta);
        const { snapshots } = object.file.info;
        // Snapshots are fetched ahead. If one is late, the last one stays.
        if (snapshots?.step) object.setTime(snapshots.start + (clock.elapsedTime % (snapshots.count * snapshots.step))).catch(console.error);
    });
    const { camera } = useThree();
    useEffect(() => {
        const { center, radius } = new Box3().setFromObject(object).getBoundingSphere(new Sphere());
        camera.position.set(0.5, 0.4, 1).setLength(2 * radius).add(center);
        camera.far = 10 * radius;
        camera.near = radius / 100;
        camera.lookAt(center);
        camera.updateProjectionMatrix();
    }, [camera, object]);
    return <primitive object={object} />;
}

const url = new URLSearchParams(location.search).get('url') ?? 'model.cgeo';
createRoot(document.getElementById('root')).render(
    <Canvas>
        <ambientLight intensity={0.8} />
        <directionalLight position={[1, 2, 3]} intensity={2.5} />
        <Suspense fallback={null}>
            <Model url={url} />
        </Suspense>
    </Canvas>,
);
