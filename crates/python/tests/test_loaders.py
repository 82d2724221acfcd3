"""PyVista, trimesh and meshio read the formats after the one line that each needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, one, valid_files

import meshmap
from meshmap._drawn import EXTENSIONS

CTM = one("openctm/valid/*.ctm")


def expected_positions(mesh: meshmap.Mesh, file: meshmap.File) -> np.ndarray:
    """The positions of a mesh as viewers show them: of Second Life in the bind shape, whose matrix is for row vectors."""
    positions = mesh["position"][:, :3]
    if not isinstance(file, meshmap.SlMeshFile) or "joints" not in mesh or file.skin is None:
        return positions
    matrix = file.skin.bind_shape_matrix
    if matrix is None or not np.isfinite(matrix).all():
        return positions
    square = matrix.reshape(4, 4).astype(np.float64)
    return (positions.astype(np.float64) @ square[:3, :3] + square[3, :3]).astype(np.float32)


def obj_numbers(path: Path, kind: str) -> np.ndarray:
    """The numbers of an OBJ file's lines of a kind."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return np.array([[float(number) for number in line[1:]] for line in lines if line[:1] == [kind]])


def some_files() -> list[Path]:
    """Two of each format that hold a mesh."""
    found: dict[str, list[Path]] = {}
    for path, _ in valid_files(large=False):
        mesh = None
        try:
            mesh = meshmap.open(path).mesh()
            usable = mesh.triangle_count > 0 and mesh.vertex_count > 0 and bool(np.isfinite(mesh["position"]).all())
            usable = usable and not meshmap.scene(path).are_points
        except (meshmap.Error, IndexError, KeyError):
            usable = False
        if usable and len(found.setdefault(path.parts[-3], [])) < 2 and DATA in path.parents:
            found[path.parts[-3]].append(path)
    return [path for paths in found.values() for path in paths]


@pytest.mark.parametrize("path", some_files(), ids=lambda path: path.name)
def test_pyvista_reads_by_its_entry_point(path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    data = pyvista.read(path)
    file = meshmap.open(path)
    blocks = [data[index] for index in range(data.n_blocks)] if isinstance(data, pyvista.MultiBlock) else [data]
    for block in blocks:
        assert block.n_cells > 0 and block.n_points > 0
    np.testing.assert_allclose(blocks[0].points, expected_positions(file.mesh(), file), rtol=1e-6)
    assert blocks[0].n_cells == file.mesh().triangle_count


@pytest.mark.parametrize("path", some_files(), ids=lambda path: path.name)
def test_trimesh_loads_after_register(path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    assert "trimesh" in meshmap.register()
    loaded = trimesh.load(path)
    meshes = list(loaded.geometry.values()) if isinstance(loaded, trimesh.Scene) else [loaded]
    file = meshmap.open(path)
    mesh = file.mesh()
    np.testing.assert_allclose(meshes[0].vertices, expected_positions(mesh, file), rtol=1e-6)
    assert len(meshes[0].faces) == mesh.triangle_count
    with path.open("rb") as opened:
        again = trimesh.load(opened, file_type=path.suffix[1:])
    assert type(again) is type(loaded)


@pytest.mark.parametrize("path", some_files(), ids=lambda path: path.name)
def test_meshio_reads_after_register(path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    assert "meshio" in meshmap.register()
    loaded = meshio.read(path)
    file = meshmap.open(path)
    mesh = file.mesh()
    np.testing.assert_allclose(loaded.points[: mesh.vertex_count], expected_positions(mesh, file), rtol=1e-6)
    assert len(loaded.cells[0].data) == mesh.triangle_count


def test_triangles_are_turned_where_the_format_has_them_clockwise(iqm: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    meshmap.register()
    mesh = meshmap.open(iqm).mesh(0)
    loaded = trimesh.load(iqm)
    first = next(iter(loaded.geometry.values())) if isinstance(loaded, trimesh.Scene) else loaded
    np.testing.assert_array_equal(first.faces, mesh.indices[:, [0, 2, 1]])


def test_snapshots_are_chosen(cgeo: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    expected = meshmap.open(cgeo).mesh("snapshots[5]")["position"]
    np.testing.assert_array_equal(pyvista.read(cgeo, snapshot=5).points, expected)


def test_avatars_are_in_their_bind_shape_as_in_files_that_are_converted(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    pyvista = pytest.importorskip("pyvista")
    meshio = pytest.importorskip("meshio")
    meshmap.register()
    path = DATA / "slmesh" / "valid" / "ours_skin_a.slmesh"
    meshmap.convert(path, tmp_path / "out.obj", raw=True)
    expected = obj_numbers(tmp_path / "out.obj", "v")
    normals = obj_numbers(tmp_path / "out.obj", "vn")
    file = meshmap.open(path)
    stored = np.concatenate([file.mesh(entry.address)["position"] for entry in file.meshes() if entry.level == 0])
    assert not np.allclose(stored, expected)

    loaded = trimesh.load(path)
    parts = list(loaded.geometry.values()) if isinstance(loaded, trimesh.Scene) else [loaded]
    np.testing.assert_allclose(np.concatenate([part.vertices for part in parts]), expected, rtol=1e-6)
    data = pyvista.read(path)
    blocks = [data[index] for index in range(data.n_blocks)] if isinstance(data, pyvista.MultiBlock) else [data]
    np.testing.assert_allclose(np.concatenate([block.points for block in blocks]), expected, rtol=1e-6)
    if len(normals):
        found = np.concatenate([block.point_data["Normals"] for block in blocks])
        np.testing.assert_allclose(found, normals, atol=1e-6)
    np.testing.assert_allclose(meshio.read(path).points, expected, rtol=1e-6)
    entry = next(entry for entry in file.meshes() if entry.level == 0)
    own = file.mesh(entry.address)
    for vertices in (own.to_trimesh().vertices, own.to_pyvista().points, own.to_meshio().points):
        np.testing.assert_allclose(vertices, expected[: len(vertices)], rtol=1e-6)


def test_a_damaged_skin_is_a_warning_and_the_geometry_is_complete() -> None:
    pytest.importorskip("pyvista")
    mesh = meshmap.open(DATA / "slmesh" / "bad" / "s02_ibm_15.slmesh").mesh("high_lod.faces[0]")
    with pytest.warns(UserWarning, match="the bind shape is left out"):
        data = mesh.to_pyvista()
    np.testing.assert_array_equal(data.points, mesh["position"])


def test_v_runs_upward_as_in_files_that_are_converted(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    pyvista = pytest.importorskip("pyvista")
    meshio = pytest.importorskip("meshio")
    meshmap.register()
    flipped = 0
    for path in (DATA / "textures" / "crate.iqm", one("openctm/valid/sphere_MG2_pu.ctm")):
        mesh = meshmap.open(path).mesh()
        meshmap.convert(path, tmp_path / "out.obj")
        expected = obj_numbers(tmp_path / "out.obj", "vt")[:, :2]
        is_downward = mesh.conventions["v_origin"] == "top"
        assert np.allclose(mesh["texcoord"][:, :2], expected) != is_downward
        flipped += is_downward
        loaded = trimesh.load(path)
        first = next(iter(loaded.geometry.values())) if isinstance(loaded, trimesh.Scene) else loaded
        np.testing.assert_allclose(first.visual.uv, expected, atol=1e-6)
        np.testing.assert_allclose(pyvista.read(path).active_texture_coordinates, expected, atol=1e-6)
        np.testing.assert_allclose(meshio.read(path).point_data["texcoord"], expected, atol=1e-6)
        np.testing.assert_allclose(mesh.to_trimesh().visual.uv, expected, atol=1e-6)
    assert flipped == 1


def meshes_of(path: Path) -> list[meshmap.Mesh]:
    return list(meshmap.open(path).values())


def test_every_valid_file_passes_through_each_adapter_and_loader() -> None:
    pytest.importorskip("trimesh")
    pytest.importorskip("pyvista")
    pytest.importorskip("meshio")
    import meshio  # type: ignore[import-untyped]
    import pyvista
    import trimesh

    assert {"trimesh", "meshio"} <= set(meshmap.register())
    files = adapted = 0
    for path, _ in valid_files(large=False):
        files += 1
        file = meshmap.open(path)
        for mesh in file.values():
            adapted += 1
            count = mesh.vertex_count if "position" in mesh else 0
            are_points = bool(count) and meshmap.scene(file, meshes=[mesh.address]).are_points
            triangles = mesh.triangle_count if count and not are_points else 0
            cells_of_pyvista = count if are_points else triangles
            positions = expected_positions(mesh, file) if count else np.empty((0, 3), np.float32)
            other = mesh.to_trimesh()
            assert (len(other.vertices), len(other.faces)) == (count, triangles), path
            np.testing.assert_allclose(other.vertices, positions, rtol=1e-6)
            data = mesh.to_pyvista()
            assert (data.n_points, data.n_cells) == (count, cells_of_pyvista), path
            np.testing.assert_allclose(data.points, positions, rtol=1e-6)
            cells = mesh.to_meshio()
            assert (len(cells.points), len(cells.cells[0].data)) == (count, triangles), path
        # The loaders, which go by endings, take what viewers show, and fail for no valid file.
        if path.suffix[1:] not in EXTENSIONS:
            continue
        pyvista.read(path)
        meshio.read(path)
        trimesh.load(path)
    print(f"{files} files, {adapted} meshes")
    assert adapted > 300


def test_pictures_are_png_and_nothing_to_draw_is_none() -> None:
    drawn = 0
    for path, _ in valid_files(large=False)[::7]:
        file = meshmap.open(path)
        picture = file._repr_png_()
        assert picture is None or picture.startswith(b"\x89PNG")
        drawn += picture is not None
        for mesh in meshes_of(path)[:1]:
            own = mesh._repr_png_()
            assert own is None or own.startswith(b"\x89PNG")
        if isinstance(file, meshmap.CGeoFile):
            own = file.snapshots[0]._repr_png_()
            assert own is None or own.startswith(b"\x89PNG")
    assert drawn > 10
