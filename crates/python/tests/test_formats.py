"""The parts that only one format has."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, valid_files

import meshmap


def test_snapshots_are_decoded_into_an_array_of_the_caller(cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo)
    for snapshot in file.snapshots:
        expected = snapshot.positions()
        out = np.full(expected.shape, np.nan, np.float32)
        assert snapshot.positions(out=out) is out
        np.testing.assert_array_equal(out, expected)
        normals = np.empty_like(snapshot.normals())
        np.testing.assert_array_equal(snapshot.normals(out=normals), snapshot.normals())
        coordinates = snapshot.texcoords(0)
        np.testing.assert_array_equal(snapshot.texcoords(0, out=np.empty_like(coordinates)), coordinates)


@pytest.mark.parametrize(
    "out",
    [np.empty((3, 3), np.float32), np.empty((98, 3), np.float64), np.empty(98 * 3, np.int32), [1, 2]],
)
def test_an_array_that_does_not_fit_is_refused(cgeo: Path, out: object) -> None:
    with pytest.raises((ValueError, TypeError, BufferError)):
        meshmap.CGeoFile.open(cgeo).snapshots[0].positions(out=out)  # type: ignore[arg-type]


def test_a_read_only_array_is_not_filled(cgeo: Path) -> None:
    snapshot = meshmap.CGeoFile.open(cgeo).snapshots[0]
    out = np.zeros_like(snapshot.positions())
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        snapshot.positions(out=out)
    assert not out.any()


def test_snapshots_are_a_sequence(cgeo: Path) -> None:
    snapshots = meshmap.CGeoFile.open(cgeo).snapshots
    assert len(snapshots) == 12 == len(list(snapshots))
    assert snapshots[-1].index == 11 and snapshots[3].index == 3
    with pytest.raises(IndexError):
        snapshots[12]


def test_positions_between_snapshots_are_interpolated(cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo)
    timing = file.timing
    assert timing is not None and timing.count == len(file.snapshots)
    a, b = file.snapshots[2].positions(), file.snapshots[3].positions()
    times = [timing.time_of(2), (timing.time_of(2) + timing.time_of(3)) / 2, timing.time_of(3)]
    found = file.positions_at(times)
    assert found.shape == (3, *a.shape) and found.dtype == np.float32
    np.testing.assert_array_equal(found[0], a)
    np.testing.assert_allclose(found[1], (a + b) / 2, rtol=1e-3, atol=1e-4)
    out = np.empty_like(found)
    assert file.positions_at(times, out=out) is out
    np.testing.assert_array_equal(out, found)
    cache = meshmap.SnapshotCache(1 << 26)
    np.testing.assert_array_equal(file.positions_at(times, cache=cache), found)
    assert cache.stats["decodes"] >= 2
    normals = file.normals_at(times)
    np.testing.assert_array_equal(file.normals_at(times, cache=cache), normals)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), 1, atol=1e-5)
    assert file.timing is not None
    at_first = file.normals_at([file.timing.time_of(0)])[0]
    stored = file.snapshots[0].normals()
    np.testing.assert_allclose(at_first, stored / np.linalg.norm(stored, axis=-1, keepdims=True), atol=1e-6)
    clamped = file.positions_at([-100.0, 100.0])
    np.testing.assert_array_equal(clamped[0], file.snapshots[0].positions())
    np.testing.assert_array_equal(clamped[1], file.snapshots[-1].positions())
    with pytest.raises(ValueError, match="wrap"):
        file.positions_at(times, wrap="backwards")  # type: ignore[arg-type]


def test_keys_of_a_shutter_have_every_snapshot_between() -> None:
    timing = meshmap.Timing(0.0, 0.5, 5)
    assert timing.keys(0.25, 1.25) == [0.25, 0.5, 1.0, 1.25]
    assert (timing.start, timing.step, timing.count) == (0.0, 0.5, 5)
    assert repr(timing) == "meshmap.Timing(start=0.0, step=0.5, count=5)"


def test_velocities_are_central_differences(cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo)
    timing = file.timing
    assert timing is not None
    before, after = file.snapshots[4].positions(), file.snapshots[6].positions()
    np.testing.assert_allclose(
        file.velocities(5), (after - before) / (2 * timing.step), rtol=1e-3, atol=np.abs(before).max() * 1e-3
    )


def test_the_cache_decodes_once(cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo)
    cache = meshmap.SnapshotCache(1 << 26)
    first, second = cache.get(file, 5), cache.get(file, 5)
    np.testing.assert_array_equal(first.positions, file.snapshots[5].positions())
    assert np.shares_memory(first.positions, second.positions)
    assert cache.stats["decodes"] == 1
    cache.clear()
    assert cache.stats["bytes_held"] == 0
    cache.prefetch(file, [6, 7])
    end = time.monotonic() + 30
    while cache.stats["decodes"] < 3 and time.monotonic() < end:
        time.sleep(0.01)
    cache.get(file, 6)
    assert cache.stats["decodes"] == 3
    cache.remove(file)


def test_parts_of_snapshots(cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo)
    cache = meshmap.SnapshotCache(1 << 26)
    held = cache.get(file, 5, parts="positions")
    assert held.parts == ["positions"]
    np.testing.assert_array_equal(held.positions, file.snapshots[5].positions())
    for absent in ("normals", "texcoords", "triangles"):
        with pytest.raises(ValueError, match=f"the {absent} were not decoded: ask for them with `parts`"):
            getattr(held, absent)
    whole = cache.get(file, 5)
    assert np.shares_memory(held.positions, whole.positions)
    assert whole.parts == ["positions", "normals", "texcoords", "triangles"]
    some = file.snapshots[5].decode(parts=["triangles", "normals"])
    assert some.parts == ["normals", "triangles"] and len(some.triangles) == len(whole.triangles)
    np.testing.assert_array_equal(some.normals, whole.normals)
    cache.prefetch(file, [6], parts=["positions"])
    with pytest.raises(ValueError, match='expected parts of positions, normals, texcoords, triangles, found "uvs"'):
        cache.get(file, 5, parts="uvs")  # type: ignore[arg-type]


def test_skinning_matrices_follow_the_parents_of_the_poses() -> None:
    """The hand's joint is below the arm, and its pose below the root: it only moves along z, however the arm turns."""
    file = meshmap.IqmFile.open(DATA / "iqm" / "regressions" / "other_pose_parents.iqm")
    skeleton = file.skeleton
    assert skeleton is not None and skeleton.parents == [None, 0, 1]
    for number, matrices in enumerate(skeleton.skinning_matrices(file.frames())):
        cosine, sine = np.cos(0.3 * number), np.sin(0.3 * number)
        arm = [[cosine, -sine, 0, 2 - 2 * cosine], [sine, cosine, 0, -2 * sine], [0, 0, 1, 0]]
        hand = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, number]]
        root = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
        np.testing.assert_allclose(matrices, np.array([root, arm, hand]), atol=1e-3)


def test_skinning_matrices_for_frames_of_another_file_follow_its_poses() -> None:
    path = DATA / "iqm" / "regressions" / "other_pose_parents.iqm"
    file = meshmap.IqmFile.open(path)
    changed = bytearray(path.read_bytes())
    poses = int.from_bytes(changed[0x50:0x54], "little")
    # Pose 2 gets the parent of joint 2.
    changed[poses + 2 * 88 : poses + 2 * 88 + 4] = (1).to_bytes(4, "little")
    usual = meshmap.IqmFile.open(bytes(changed))
    assert file.skeleton is not None and usual.skeleton is not None
    frames = file.frames(animation=usual)
    expected = usual.skeleton.skinning_matrices(frames)
    np.testing.assert_array_equal(file.skeleton.skinning_matrices(frames, animation=usual), expected)
    assert not np.allclose(file.skeleton.skinning_matrices(frames), expected)


def test_skinning_matrices_of_the_bind_pose_are_the_identity(iqm: Path) -> None:
    file = meshmap.IqmFile.open(iqm)
    skeleton = file.skeleton
    assert skeleton is not None and len(skeleton) == len(file.joints)
    matrices = skeleton.skinning_matrices(file.joint_transforms)
    assert matrices.shape == (len(skeleton), 3, 4)
    np.testing.assert_allclose(matrices, np.broadcast_to(np.eye(4, dtype=np.float32)[:3], matrices.shape), atol=1e-4)
    frames = file.frames()
    assert frames.shape == (file.frame_count, file.pose_count, 10)
    np.testing.assert_array_equal(file.frames(1, 3), frames[1:3])
    assert skeleton.skinning_matrices(frames[0]).shape == matrices.shape
    one_by_one = [skeleton.skinning_matrices(frame) for frame in frames]
    np.testing.assert_array_equal(skeleton.skinning_matrices(frames), np.stack(one_by_one))
    product = [
        np.vstack([bind, [0, 0, 0, 1]]) @ np.vstack([inverse, [0, 0, 0, 1]])
        for bind, inverse in zip(skeleton.bind_matrices, skeleton.inverse_bind_matrices, strict=True)
    ]
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(4), (len(skeleton), 4, 4)), atol=1e-4)
    with pytest.raises(ValueError, match="frame has shape"):
        skeleton.skinning_matrices(np.zeros(7, np.float32))
    with pytest.raises(meshmap.Error):
        skeleton.skinning_matrices(np.zeros((len(skeleton) + 1, 10), np.float32))
    with pytest.raises(meshmap.Error):
        file.frames(0, file.frame_count + 1)


def test_animations_of_other_skeletons_are_a_mismatch(iqm: Path) -> None:
    file = meshmap.IqmFile.open(iqm)
    assert file.check_animation(file) == []
    assert np.array_equal(file.frames(0, 2, animation=file), file.frames(0, 2))
    other = meshmap.IqmFile.open(DATA / "iqm/valid/skin_noesis_fmt.iqm")
    with pytest.raises(meshmap.Error, match='expected "j004" below "j000"') as caught:
        file.check_animation(other)
    assert caught.value.kind == "mismatch"


def test_levels_of_detail_and_hulls_of_second_life() -> None:
    seen = {"skin": 0, "parents": 0, "hulls": 0, "physics": 0, "lods": 0}
    for path, _ in valid_files(large=False):
        if path.parts[-3] != "slmesh":
            continue
        file = meshmap.SlMeshFile.open(path)
        for name in file.lods:
            block = file.lod(name)
            assert block is not None and block.name == name
            seen["lods"] += 1
            for face in block:
                if face.has_geometry:
                    low, high = face.position_domain
                    scale = (high - low) / np.float32(65535)
                    np.testing.assert_allclose(face.positions, face.raw_positions * scale + low, atol=1e-4, rtol=1e-4)
        if (skin := file.skin) is not None:
            seen["skin"] += 1
            assert len(skin.joint_names) > 0
            assert len(skin.joint_parents) == len(skin.joint_names)
            if skin.joint_names == ["mPelvis", "mTorso"]:
                seen["parents"] += 1
                assert skin.joint_parents == [None, 0]
        if (hulls := file.physics_convex) is not None and hulls.hull_sizes is not None:
            seen["hulls"] += 1
            assert [len(hull) for hull in hulls.hulls] == list(hulls.hull_sizes)
        seen["physics"] += file.physics_mesh is not None
    assert all(seen.values()), seen
    with pytest.raises(ValueError, match="level of detail"):
        file.lod("tiny")


def test_maps_of_openctm() -> None:
    uvs = attributes = 0
    for path, _ in valid_files(large=False):
        if path.parts[-3] != "openctm":
            continue
        for body in meshmap.OpenCtmFile.open(path).bodies:
            for uv_map in body.uv_maps:
                assert uv_map.values.shape == (body.vertex_count, 2)
                uvs += 1
            for attribute_map in body.attribute_maps:
                assert attribute_map.values.shape == (body.vertex_count, 4)
                attributes += 1
    assert uvs and attributes


def test_findings_say_rule_severity_and_place() -> None:
    found = [
        finding for path, _ in valid_files(large=False) for finding in meshmap.open(path).findings
    ]
    assert found
    for finding in found:
        assert finding.severity in ("note", "suspicious", "forbidden", "unusable")
        assert finding.rule and finding.message and finding.count >= 1
        assert "\n" not in repr(finding)


def test_conversion_and_pictures(tmp_path: Path, iqm: Path) -> None:
    outcome = meshmap.convert(iqm, tmp_path / "model.glb")
    assert (tmp_path / "model.glb").read_bytes()[:4] == b"glTF"
    assert outcome["triangles"] > 0 and outcome["files"] == [str(tmp_path / "model.glb")] or outcome["files"]
    meshmap.convert(iqm, tmp_path / "moment.ply", frame=3)
    meshmap.convert(iqm, tmp_path / "bind.ply")
    assert (tmp_path / "moment.ply").read_bytes() != (tmp_path / "bind.ply").read_bytes()
    with pytest.raises(ValueError, match="cannot tell the format"):
        meshmap.convert(iqm, tmp_path / "model.xyz")
    picture = meshmap.render(iqm, size=(64, 48))
    assert isinstance(picture, np.ndarray) and picture.shape == (48, 64, 3) and picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10
    rendered = meshmap.render(meshmap.open(iqm), tmp_path / "model.png", size=(32, 32), samples=1)
    assert (tmp_path / "model.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert rendered["pictures"] == 1
    with pytest.raises(OSError):
        meshmap.convert(iqm, tmp_path / "nowhere" / "model.glb")


def test_files_in_the_repository_are_there() -> None:
    assert (DATA / "cgeo" / "valid" / "anim_a.cgeo").is_file()
