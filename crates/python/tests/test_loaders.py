"""PyVista, trimesh and meshio read the formats after the one line that each needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, one, valid_files

import meshmap
from meshmap._drawn import EXTENSIONS

CTM = one("openctm/valid/*.ctm")


def some_files() -> list[Path]:
    """Two of each format that hold a mesh."""
    found: dict[str, list[Path]] = {}
    for path, _ in valid_files(large=False):
        mesh = None
        try:
            mesh = meshmap.open(path).mesh()
            usable = mesh.triangle_count > 0 and mesh.vertex_count > 0 and bool(np.isfinite(mesh["position"]).all())
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
    np.testing.assert_array_equal(np.asarray(blocks[0].points, np.float32), file.mesh()["position"][:, :3])
    assert blocks[0].n_cells == file.mesh().triangle_count


@pytest.mark.parametrize("path", some_files(), ids=lambda path: path.name)
def test_trimesh_loads_after_register(path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    assert "trimesh" in meshmap.register()
    loaded = trimesh.load(path)
    meshes = list(loaded.geometry.values()) if isinstance(loaded, trimesh.Scene) else [loaded]
    mesh = meshmap.open(path).mesh()
    np.testing.assert_array_equal(meshes[0].vertices, mesh["position"][:, :3].astype(np.float64))
    assert len(meshes[0].faces) == mesh.triangle_count
    with path.open("rb") as opened:
        again = trimesh.load(opened, file_type=path.suffix[1:])
    assert type(again) is type(loaded)


@pytest.mark.parametrize("path", some_files(), ids=lambda path: path.name)
def test_meshio_reads_after_register(path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    assert "meshio" in meshmap.register()
    loaded = meshio.read(path)
    mesh = meshmap.open(path).mesh()
    np.testing.assert_array_equal(loaded.points[: mesh.vertex_count], mesh["position"][:, :3].astype(np.float64))
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
        for mesh in meshes_of(path):
            adapted += 1
            count, triangles = mesh.vertex_count if "position" in mesh else 0, mesh.triangle_count
            positions = mesh["position"][:, :3] if count else np.empty((0, 3), np.float32)
            other = mesh.to_trimesh()
            assert (len(other.vertices), len(other.faces)) == (count, triangles), path
            np.testing.assert_array_equal(other.vertices, positions)
            data = mesh.to_pyvista()
            assert (data.n_points, data.n_cells) == (count, triangles), path
            np.testing.assert_array_equal(np.asarray(data.points, np.float32), positions)
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
