# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the model, the timing and the build script, without Blender. Run by `.ci/run`."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import meshmap
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "blender" / "meshmap_io"))

from model.arrays import drop_triangles, reverse_winding  # noqa: E402
from model.data import MeshData  # noqa: E402
from model.notes import Notes  # noqa: E402
from model.options import ReadOptions  # noqa: E402
from model.read import read  # noqa: E402
from timing import Pace, Sample, sample  # noqa: E402

DATA = ROOT / "tests" / "data"
FORMATS = {"cgeo": "cgeo", "iqm": "iqm", "openctm": "ctm", "slmesh": "slmesh", "tmf": "tmf"}
FILES = [(name, path) for name, suffix in FORMATS.items() for path in sorted((DATA / name / "valid").glob(f"*.{suffix}"))]


@pytest.mark.parametrize(("name", "path"), FILES, ids=[path.name for _, path in FILES])
def test_meshes_are_what_blender_can_hold(name: str, path: Path) -> None:
    model = read(str(path), name, ReadOptions(all_levels=True, physics=True), Notes())
    for mesh in model.meshes:
        assert np.isfinite(mesh.positions).all() and mesh.positions.dtype == np.float32
        assert mesh.triangles.dtype == np.int32 and mesh.triangles.shape[1:] == (3,)
        a, b, c = mesh.triangles.T
        assert ((mesh.triangles >= 0) & (mesh.triangles < len(mesh.positions))).all()
        assert ((a != b) & (b != c) & (c != a)).all()
        for channel in [*mesh.uvs, *mesh.colors, *([mesh.normals] if mesh.normals else [])]:
            if channel.corners is None:
                assert len(channel.values) == len(mesh.positions)
            else:
                assert channel.corners.shape == mesh.triangles.shape
                assert not len(mesh.triangles) or channel.corners.max() < len(channel.values)
        assert mesh.material_ids is None or len(mesh.material_ids) == len(mesh.triangles)
        if mesh.weights is not None:
            sums = mesh.weights.sum(axis=1)
            assert ((sums == 0) | (np.abs(sums - 1) < 1e-6)).all() and len(sums) == len(mesh.positions)
            assert (mesh.joints[mesh.weights > 0] < len(model.skeleton.names)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_read_in_part_or_refused_with_a_reason(name: str) -> None:
    for path in sorted((DATA / name / "bad").glob(f"*.{FORMATS[name]}")):
        try:
            read(str(path), name, ReadOptions(), Notes())
        except meshmap.Error as error:
            assert str(error)


def test_a_truncated_file_gives_its_intact_levels_and_a_line(tmp_path: Path) -> None:
    whole = (DATA / "slmesh/valid/nodemv_02_static_4lod.slmesh").read_bytes()
    short = tmp_path / "short.slmesh"
    short.write_bytes(whole[: len(whole) * 2 // 3])
    notes = Notes()
    model = read(str(short), "slmesh", ReadOptions(all_levels=True), notes)
    assert len(model.meshes) == 1 and any("left out" in line for line in notes.lines)


def test_faces_with_weights_are_in_the_bind_shape() -> None:
    # It scales by 2, 3 and 4. The second face has no weights; in the first file, the joints cannot be used.
    for name in ("bind_shape_without_matrices", "bind_shape_of_one_face"):
        [mesh] = read(str(DATA / f"slmesh/regressions/{name}.slmesh"), "slmesh", ReadOptions(), Notes()).meshes
        sizes = [np.ptp(face, axis=0) for face in mesh.positions.reshape(2, 8, 3)]
        assert np.allclose(sizes, [[2, 3, 4], [1, 1, 1]], atol=1e-4)
        assert mesh.normals is not None
        normal = mesh.normals.values[7]
        assert np.allclose(normal, np.array([6, 4, 3]) / np.linalg.norm([6, 4, 3]), atol=1e-4)
    whole = read(str(DATA / "slmesh/regressions/bind_shape.slmesh"), "slmesh", ReadOptions(), Notes())
    assert whole.skeleton is not None
    assert np.allclose(np.ptp(whole.meshes[0].positions, axis=0), [32, 155, 96], rtol=1e-3)


def test_unusable_triangles_are_dropped_and_counted() -> None:
    triangles = np.array([[0, 1, 2], [1, 1, 2]], np.int32)
    mesh = MeshData("m", np.eye(3, dtype=np.float32), triangles, material_ids=np.arange(2, dtype=np.int32))
    notes = Notes()
    drop_triangles(mesh, notes)
    assert mesh.triangles.tolist() == [[0, 1, 2]] and mesh.material_ids is not None and mesh.material_ids.tolist() == [0]
    assert notes.lines == ["1 triangle has two equal corners and is dropped"]


def test_triangles_run_as_in_the_scene_and_are_flipped_on_request() -> None:
    for path in ("cgeo/valid/anim_a.cgeo", "iqm/valid/skin_multi_anim.iqm", "tmf/valid/v011_cube.tmf"):
        name = path.split("/")[0]
        shape = meshmap.scene(DATA / path).shapes[0]
        for plays in (False, True):
            [mesh, *_] = read(str(DATA / path), name, ReadOptions(plays=plays), Notes()).meshes
            [flipped, *_] = read(str(DATA / path), name, ReadOptions(plays=plays, flip_faces=True), Notes()).meshes
            assert np.array_equal(mesh.triangles, shape.arrays(one_index=False).triangles)
            reverse_winding(flipped)
            assert np.array_equal(mesh.triangles, flipped.triangles)


def test_normals_are_left_out_of_meshes_that_will_move() -> None:
    for name, has_normals in (("anim_a", False), ("ids_edges_a", True)):
        model = read(str(DATA / f"cgeo/valid/{name}.cgeo"), "cgeo", ReadOptions(plays=True), Notes())
        assert (model.meshes[0].normals is not None) == has_normals and model.meshes[0].is_smooth


def test_files_with_only_animations_have_a_skeleton_that_moves() -> None:
    found = 0
    for _, path in FILES:
        if path.suffix != ".iqm" or meshmap.scene(path).shapes or not meshmap.scene(path).clips:
            continue
        found += 1
        model = read(str(path), "iqm", ReadOptions(), Notes())
        assert model.skeleton is not None and len(model.animations) == len(meshmap.scene(path).clips)
    assert found


def test_places_wrap_as_in_the_package() -> None:
    def at(place: float, **pace: object) -> tuple[int, int, float]:
        found = sample(place, 5, Pace(**pace))  # type: ignore[arg-type]
        return found.first, found.second, round(found.fraction, 6)

    assert at(1.5) == (1, 2, 0.5) and at(-3) == (0, 0, 0) and at(9.5) == (4, 4, 0)
    assert at(4.5, wrap="LOOP") == (4, 0, 0.5) and at(-1, wrap="LOOP") == (4, 4, 0) and at(5, wrap="LOOP") == (0, 0, 0)
    assert at(4.5, wrap="PING_PONG") == (3, 4, 0.5) and at(8, wrap="PING_PONG") == (0, 0, 0)
    assert at(1.5, is_linear=False) == (2, 2, 0) and at(2.00001) == (2, 2, 0)
    assert sample(float("nan"), 5, Pace()) == Sample(0, 0, 0.0)


def test_frames_become_places() -> None:
    assert Pace(first_frame=10, speed=2, offset=1).place(12, 24, 1 / 48) == pytest.approx(9)


def test_zips_are_made_from_the_wheels_that_exist(tmp_path: Path) -> None:
    for tag in ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64.manylinux2014_x86_64", "win_amd64", "musllinux_1_2_x86_64"):
        (tmp_path / f"meshmap-0.1.0-cp311-abi3-{tag}.whl").write_bytes(b"wheel")
    done = subprocess.run([ROOT / "blender/build", tmp_path / "out", tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith("no wheel, and so no zip, for windows-arm64, macos-x64, macos-arm64: ")
    zips = sorted((tmp_path / "out").glob("*.zip"))
    assert [path.name.split("-")[-1] for path in zips] == ["linux_x64.zip", "windows_x64.zip"]
    with zipfile.ZipFile(zips[0]) as archive:
        assert "wheels/meshmap-0.1.0-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl" in archive.namelist()
        assert 'platforms = ["linux-x64"]' in archive.read("blender_manifest.toml").decode()
        assert {"__init__.py", "LICENSE", "build/mesh.py", "player/panel.py"} <= set(archive.namelist())
    nothing = subprocess.run([ROOT / "blender/build", tmp_path / "out", tmp_path / "none"], capture_output=True, check=False)
    assert nothing.returncode == 1
