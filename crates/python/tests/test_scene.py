"""Scenes: shapes, skeletons and animations as NumPy arrays."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, one, valid_files

import meshmap

SKIN = DATA / "iqm" / "valid" / "skin_multi_anim.iqm"
AVATAR = DATA / "slmesh" / "valid" / "ours_skin_a.slmesh"


def four_rows(matrices: np.ndarray) -> np.ndarray:
    """Matrices of three rows with the row 0 0 0 1."""
    last = np.broadcast_to(np.array([0.0, 0, 0, 1]), (*matrices.shape[:-2], 1, 4))
    return np.concatenate([matrices, last], axis=-2)


def test_clips_are_the_frames_of_the_file() -> None:
    scene = meshmap.scene(SKIN)
    file = meshmap.open(SKIN)
    assert isinstance(file, meshmap.IqmFile)
    assert scene.skeleton is not None and file.skeleton is not None
    assert scene.skeleton.names == [joint.name for joint in file.joints]
    assert scene.skeleton.parents == file.skeleton.parents
    np.testing.assert_allclose(scene.skeleton.bind, four_rows(file.skeleton.bind_matrices), atol=1e-6)
    np.testing.assert_allclose(scene.skeleton.bind @ scene.skeleton.inverse_bind, np.tile(np.eye(4), (5, 1, 1)), atol=1e-5)
    assert [clip.name for clip in scene.clips] == [anim.name for anim in file.anims]
    for clip, anim in zip(scene.clips, file.anims, strict=True):
        assert (clip.frame_count, clip.rate, clip.repeats) == (anim.num_frames, anim.rate, anim.is_loop)
        frames = file.frames(anim.first_frame, anim.first_frame + anim.num_frames)
        expected = four_rows(file.skeleton.skinning_matrices(frames))
        np.testing.assert_allclose(clip.samples() @ scene.skeleton.inverse_bind, expected, atol=2e-5)
        np.testing.assert_array_equal(clip.samples(0, 1)[0], clip.sample(0))
    with pytest.raises(meshmap.Error) as error:
        scene.clips[0].sample(99)
    assert error.value.kind == "out_of_range"


def test_a_scene_in_a_frame_has_moved_vertices_and_no_skeleton() -> None:
    scene = meshmap.scene(SKIN)
    assert scene.skeleton is not None
    still = scene.shapes[0].arrays()
    assert still.joints is not None and still.weights is not None
    matrices = scene.clips[0].sample(3) @ scene.skeleton.inverse_bind
    matrices = np.concatenate([matrices, np.eye(4)[None]])
    points = np.concatenate([still.positions, np.ones((len(still.positions), 1))], axis=1)
    moved = np.einsum("vj,vjab,vb->va", still.weights, matrices[still.joints], points)[:, :3]
    posed = meshmap.scene(SKIN, frame=3)
    assert posed.skeleton is None and posed.clips == []
    np.testing.assert_allclose(posed.shapes[0].arrays().positions, moved, atol=1e-5)
    assert posed.shapes[0].arrays().joints is None


def test_an_avatar_is_in_its_bind_shape_and_its_joints_are_there() -> None:
    scene = meshmap.scene(AVATAR)
    file = meshmap.open(AVATAR)
    assert isinstance(file, meshmap.SlMeshFile) and file.skin is not None and file.skin.bind_shape_matrix is not None
    square = file.skin.bind_shape_matrix.reshape(4, 4).astype(np.float64)
    followed = 0
    for shape in scene.shapes:
        stored = file.mesh(shape.address)
        positions = stored["position"].astype(np.float64)
        if "joints" in stored:
            followed += 1
            positions = positions @ square[:3, :3] + square[3, :3]
        np.testing.assert_allclose(shape.arrays().positions, positions, rtol=1e-5, atol=1e-6)
    assert followed and scene.skeleton is not None
    assert scene.metres_per_unit == 1 and scene.up == "z"
    np.testing.assert_array_equal(scene.upright, [[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])


def test_levels_and_meshes_are_chosen() -> None:
    path = one("slmesh/valid/*.slmesh")
    every = meshmap.scene(path, lod="all")
    finest = meshmap.scene(path)
    assert {shape.address for shape in finest.shapes} <= {shape.address for shape in every.shapes}
    assert [shape.address for shape in every.shapes if not shape.is_coarser] == [shape.address for shape in finest.shapes]
    first = every.shapes[0].address
    assert [shape.address for shape in meshmap.scene(path, meshes=[first]).shapes] == [first]
    with pytest.raises(ValueError, match="lod is 'coarse'"):
        meshmap.scene(path, lod="coarse")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="up is 'w'"):
        meshmap.scene(path, up="w")  # type: ignore[arg-type]
    with pytest.raises(meshmap.Error):
        meshmap.scene(path, meshes=["meshes[77]"])


def test_hulls_are_chosen_by_their_addresses() -> None:
    path = one("slmesh/valid/ours_hulls_a.slmesh")
    file = meshmap.open(path)
    assert isinstance(file, meshmap.SlMeshFile) and file.physics_convex is not None
    scene = meshmap.scene(file, meshes=["physics_convex.hulls"])
    hulls = file.physics_convex.hulls
    assert len(scene.shapes) == len(hulls)
    for number, (shape, points) in enumerate(zip(scene.shapes, hulls, strict=True)):
        assert (shape.address, shape.name) == (f"physics_convex.hulls[{number}]", f"hull_{number}")
        assert shape.material is None and shape.object is None
        arrays = shape.arrays()
        np.testing.assert_array_equal(arrays.positions, points)
        assert arrays.normals is None and not arrays.texcoords
    with pytest.raises(meshmap.Error, match=r"physics_convex\.bounding_verts"):
        meshmap.scene(file, meshes=[f"physics_convex.hulls[{len(hulls)}]"])


def test_arrays_have_one_index_or_the_corners_of_the_file() -> None:
    separate = 0
    for path, _ in valid_files(large=False):
        if DATA not in path.parents:
            continue
        for shape in meshmap.scene(path).shapes:
            whole, split = shape.arrays(), shape.arrays(one_index=False)
            assert not whole.corners
            same = whole.positions[whole.triangles], split.positions[split.triangles]
            np.testing.assert_array_equal(*same, err_msg=str(path))
            assert whole.texcoords.keys() == split.texcoords.keys(), path
            for number, texcoords in whole.texcoords.items():
                own = split.texcoords[number]
                name = "texcoord" if number == 0 else f"texcoord[{number}]"
                corners = split.corners.get(name, split.triangles)
                np.testing.assert_array_equal(texcoords[whole.triangles], own[corners], err_msg=str(path))
            if whole.normals is not None and split.normals is not None:
                corners = split.corners.get("normal", split.triangles)
                np.testing.assert_array_equal(whole.normals[whole.triangles], split.normals[corners], err_msg=str(path))
            separate += bool(split.corners)
    assert separate > 5


def test_only_attributes_that_are_asked_for_are_decoded(cgeo: Path) -> None:
    for one_index in (True, False):
        arrays = meshmap.scene(cgeo).shapes[0].arrays(1, attributes=["texcoord"], one_index=one_index)
        assert arrays.normals is None and len(arrays.texcoords) == 1 and len(arrays.positions)


def test_snapshots_are_keys(cgeo: Path) -> None:
    file = meshmap.open(cgeo)
    assert isinstance(file, meshmap.CGeoFile)
    shape = meshmap.scene(cgeo, snapshots=[2, 5]).shapes[0]
    assert shape.snapshots == [2, 5] and len(shape) == 2
    np.testing.assert_array_equal(shape.arrays(-1, one_index=False).positions, file.snapshots[5].positions())
    np.testing.assert_array_equal(shape.view(0)["position"], file.mesh("snapshots[2]")["position"])
    with pytest.raises(IndexError, match="no key 2: the shape has 2"):
        shape.arrays(2)


def test_files_with_only_animations_have_joints() -> None:
    found = 0
    for path, _ in valid_files(large=False):
        if path.suffix != ".iqm" or DATA not in path.parents:
            continue
        scene = meshmap.scene(path)
        if scene.has_only_joints:
            found += 1
            assert scene.skeleton is not None and len(scene.skeleton) > 0 and scene.bones.shape[1:] == (2, 3)
    assert found


def test_materials_without_colours_have_colours_of_the_palette() -> None:
    scene = meshmap.scene(SKIN)
    assert scene.shapes[0].tint() == (0xC9, 0xC4, 0xBC)
    assert scene.shapes[0].material is not None and scene.shapes[0].material.name == "skin"
    path = one("cgeo/valid/*.cgeo")
    shape = meshmap.scene(path).shapes[0]
    assert shape.tint(0) == shape.tint(12) != shape.tint(1)


def in_child(scene: meshmap.Scene, queue: multiprocessing.Queue[int]) -> None:
    queue.put(len(scene.shapes[0].arrays().positions))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scenes_are_pickled_and_cross_a_fork() -> None:
    scene = meshmap.scene(SKIN, anim="run")
    again = pickle.loads(pickle.dumps(scene))
    assert [clip.name for clip in again.clips] == ["run"]
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[int] = context.Queue()
    process = context.Process(target=in_child, args=(scene, queue))
    process.start()
    assert queue.get(timeout=60) == len(scene.shapes[0].arrays().positions)
    process.join()
