"""Geometry as rows, lazy frames, relations and jobs: equal to the arrays, also through the files and engines that take them."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DATA, roots, valid_files

import meshmap

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.compute")

ARRAYS = ["position", "normal", "tangent", "texcoord", "texcoord[1]", "color", "joints", "weights", "index", "material_id"]
COLUMNS = ["path", "address", "vertices", "triangles", "error_kind", "error", *ARRAYS]


def array_of(value: Any) -> np.ndarray[Any, Any] | None:
    """The array of a cell."""
    if not value.is_valid:
        return None
    items = value.values
    lanes = items.type.list_size if pa.types.is_fixed_size_list(items.type) else 1
    flat = (items.flatten() if lanes > 1 else items).to_numpy(zero_copy_only=False)
    array: np.ndarray[Any, Any] = flat.reshape(-1, lanes) if lanes > 1 else flat
    return array


def assert_equal_to_the_arrays(table: Any) -> int:
    """Compares all cells with the arrays of the files, and returns how many there are."""
    compared, file = 0, None
    for index, (path, address, error) in enumerate(
        zip(*(table[name].to_pylist() for name in ("path", "address", "error")), strict=True)
    ):
        if address is None or error is not None:
            continue
        if file is None or file.path != path:
            file = meshmap.open(path)
        mesh = file.mesh(address)
        for name in ARRAYS:
            own = {"index": mesh.indices if mesh.triangle_count else None, "material_id": mesh.material_ids}
            wanted = own[name] if name in own else mesh.get(name)
            found = array_of(table[name][index])
            assert (found is None) == (wanted is None), (path, address, name)
            if found is None or wanted is None:
                continue
            compared += 1
            if found.ndim == 2:
                common = min(found.shape[1], wanted.shape[1])
                rest = found[:, common:]
                assert np.isin(rest, [0, 1]).all(), (path, address, name)
                found, wanted = found[:, :common], wanted[:, :common]
            if found.dtype == np.float32:
                found, wanted = np.ascontiguousarray(found), np.ascontiguousarray(wanted)
                assert wanted.dtype == np.float32
                found, wanted = found.view(np.uint32), wanted.view(np.uint32)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{path} {address} {name}")
    return compared


def test_rows_of_geometry_are_the_arrays(tmp_path: Path) -> None:
    paths = meshmap.find([str(path) for path, _ in valid_files(large=False)])
    table = pa.table(meshmap.geometry(paths, columns=COLUMNS, batch_bytes=1 << 20))
    compared = assert_equal_to_the_arrays(table)
    print(f"{len(paths)} files, {table.num_rows} rows, {compared} arrays")
    assert compared > 500
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, tmp_path / "geometry.parquet")
    again = pyarrow.parquet.read_table(tmp_path / "geometry.parquet")
    assert assert_equal_to_the_arrays(again) == compared
    polars = pytest.importorskip("polars")
    frame = meshmap.scan(paths, geometry=COLUMNS).collect()
    assert assert_equal_to_the_arrays(frame.to_arrow().cast(table.schema)) == compared
    assert polars.read_parquet(tmp_path / "geometry.parquet").equals(frame)
    pytest.importorskip("duckdb")
    relation = meshmap.relation(paths, geometry=COLUMNS)
    assert assert_equal_to_the_arrays(relation.to_arrow_table().cast(table.schema)) == compared
    # A relation can be read again.
    assert relation.count("*").fetchall() == [(table.num_rows,)]


def test_damaged_meshes_are_rows() -> None:
    table = pa.table(meshmap.geometry(list(roots())))
    errors = table.filter(pa.compute.is_valid(table["error_kind"]))
    assert errors.num_rows > 100
    for name in ("position", "index"):
        assert table[name].null_count >= errors.filter(pa.compute.is_null(errors["address"])).num_rows
    named = {Path(path) for path in table["path"].to_pylist()}
    assert named == {Path(str(path)) for path in meshmap.find(list(roots()))}


def test_attributes_of_a_file_are_columns(tmp_path: Path) -> None:
    found = 0
    for path, _ in valid_files(large=False):
        file = meshmap.open(path)
        for address, mesh in file.items():
            known = ("position", "normal", "tangent", "texcoord", "color", "joints", "weights")
            for name in mesh:
                if name.split("[")[0] in known or mesh[name].shape[1] > 4:
                    continue
                table = pa.table(meshmap.geometry(path, columns=["address", name]))
                cell = table[name][table["address"].to_pylist().index(address)]
                # The column has doubles as they are; `mesh[name]` has them as float32.
                wanted = mesh.raw(name) if mesh.raw(name).dtype == np.float64 else mesh[name].astype(np.float64)
                np.testing.assert_array_equal(np.array(cell.as_py()), wanted)
                found += 1
    assert found > 3


def test_wrong_columns_and_formats_are_named() -> None:
    for make in (meshmap.catalog, meshmap.geometry):
        with pytest.raises(ValueError, match="twice"):
            make(DATA, columns=["path", "path"])
        with pytest.raises(ValueError, match='"obj" is no format: expected some of cgeo, openctm'):
            make(DATA, formats=["obj"])
    with pytest.raises(ValueError, match='"position" is no column: expected some of path, format'):
        meshmap.catalog(DATA, columns=["position"])
    # A name that no mesh has is a column of nulls: any file may have an attribute of any name.
    table = pa.table(meshmap.geometry(DATA / "iqm" / "valid", columns=["path", "wind"]))
    assert table["wind"].null_count == table.num_rows


def test_columns_formats_and_limits_choose_rows() -> None:
    everything = pa.table(meshmap.catalog(DATA))
    some = pa.table(meshmap.catalog(DATA, columns=["format", "path"]))
    assert some.equals(everything.select(["format", "path"]))
    of_iqm = pa.table(meshmap.catalog(DATA, formats=["iqm"]))
    assert of_iqm.equals(everything.filter(pa.compute.equal(everything["format"], "iqm")))
    assert pa.table(meshmap.catalog(DATA, limit=5)).equals(everything.slice(0, 5))
    assert pa.table(meshmap.catalog(DATA, limit=0)).num_rows == 0
    assert pa.table(meshmap.geometry(DATA, limit=3)).num_rows == 3
    decoded = pa.table(meshmap.catalog(DATA, full=True, hash=True))
    headers, meshes = ["path", "role", "mesh_bytes"], ["triangles", "min_x"]
    for names in (headers, meshes, [*meshes, *headers], ["rule"], ["hash"]):
        assert pa.table(meshmap.catalog(DATA, full=True, hash=True, columns=names)).equals(decoded.select(names)), names


def test_tables_have_a_version_and_names_are_dictionaries() -> None:
    for made in (meshmap.catalog(DATA), meshmap.geometry(DATA)):
        schema = pa.schema(made)
        assert schema.metadata == {b"meshmap.schema": str(meshmap._meshmap.SCHEMA_VERSION).encode()}
        for name in {"format", "role", "error_kind", "rule", "part_error_kind"} & set(schema.names):
            assert schema.field(name).type == pa.dictionary(pa.int32(), pa.string())
    rules = pa.table(meshmap.catalog(DATA, full=True, columns=["rule"]))["rule"].value_counts().to_pylist()
    assert {"index_out_of_range", "not_finite"} <= {count["values"] for count in rules}


def test_tables_end_with_the_row_that_reaches_their_size() -> None:
    most, count = 100_000, 0
    for batch in pa.RecordBatchReader.from_stream(meshmap.geometry(list(roots()), batch_bytes=most)):
        assert batch.num_rows == 1 or batch.slice(0, batch.num_rows - 1).nbytes <= most
        count += 1
    assert count > 10
    # The name of an error is in its row.
    missing = [f"{'x' * 250}/{'y' * 250}{index}" for index in range(40_000)]
    batches = list(pa.RecordBatchReader.from_stream(meshmap.catalog(missing, batch_rows=1 << 20)))
    assert len(batches) > 1 and all(batch.nbytes < 9 << 20 for batch in batches)
    assert sum(batch.num_rows for batch in batches) == len(missing)


def test_a_limit_reads_no_more_files_than_it_needs(iqm: Path) -> None:
    data, asked = iqm.read_bytes(), []

    def source(index: int) -> tuple[str, Any, int]:
        def read(start: int, stop: int) -> bytes:
            asked.append(index)
            return data[start:stop]

        return f"{index}", read, len(data)

    rows = pa.table(meshmap.catalog([source(index) for index in range(2000)], full=True, limit=5)).num_rows
    assert rows == 5
    assert len(set(asked)) == 5


def test_first_rows_come_after_a_few_files(iqm: Path) -> None:
    data, asked = iqm.read_bytes(), []

    def source(index: int) -> tuple[str, Any, int]:
        def read(start: int, stop: int) -> bytes:
            asked.append(index)
            return data[start:stop]

        return f"{index}", read, len(data)

    reader = pa.RecordBatchReader.from_stream(meshmap.catalog([source(index) for index in range(2000)]))
    reader.read_next_batch()
    assert len(set(asked)) <= 256


def test_what_viewers_show_is_one_row_for_each_mesh() -> None:
    table = pa.table(meshmap.geometry(DATA, drawn=True, columns=["path", "address", "role", "level", "error"]))
    assert set(table["role"].to_pylist()) <= {"geometry", "lod", "snapshot", None}
    snapshots = table.filter(pa.compute.equal(table["role"], "snapshot"))
    assert set(snapshots["address"].to_pylist()) == {"snapshots[0]"}


def test_find_takes_files_folders_globs_and_lists(tmp_path: Path, iqm: Path, cgeo: Path) -> None:
    (tmp_path / "below").mkdir()
    first = shutil.copy(iqm, tmp_path / "a.iqm")
    second = shutil.copy(cgeo, tmp_path / "below" / "b.cgeo")
    (tmp_path / "notes.txt").write_text("no mesh")
    expected = [str(first), str(second)]
    assert meshmap.find(tmp_path) == expected
    assert meshmap.find(str(tmp_path / "**" / "*.*eo")) == expected[1:]
    assert meshmap.find([first, tmp_path / "below"]) == expected
    assert meshmap.find(f"{tmp_path}/*") == expected[:1] + [str(tmp_path / "notes.txt")]
    missing: list[Any] = [tmp_path / "nothing", f"{tmp_path}/*.obj", [], tmp_path / "below" / "c.iqm"]
    for nothing in missing:
        with pytest.raises(FileNotFoundError):
            meshmap.find(nothing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no mesh files in"):
        meshmap.find(tmp_path / "empty")


def test_lazy_frames_have_the_rows_of_frames() -> None:
    pl: Any = pytest.importorskip("polars")
    paths = meshmap.find(DATA)[::3]
    frame = meshmap.scan(paths, full=True, hash=True)
    everything = frame.collect()
    assert everything.equals(pl.DataFrame(meshmap.catalog(paths, full=True, hash=True)))
    assert everything["part_error"].n_unique() > 2
    col = pl.col
    some = col("path").str.contains("valid")
    predicates = [
        None,
        some,
        col("format") == "cgeo",
        col("format").is_null(),
        col("format").is_in(["iqm", "tmf"]) & some,
        (col("format") == "iqm") & (col("format") != "iqm"),
        some & (col("triangles") > 100) & (col("format") != "tmf"),
        some | (col("triangles") > 100),
        (col("role") == "lod") & (col("level") == 0) & (col("vertices") > 3),
        col("error_kind").is_null() & (col("damaged_parts") > 0),
        (col("format") == "iqm") & (col("path") == col("path").last()),
        col("path").is_first_distinct(),
        pl.len() > 5,
    ]
    projections = [["path"], ["path", "format"], ["role", "level", "address"], ["path", "triangles"], ["min_x", "format"],
                   ["error_kind", "error"], ["unusable", "notes"], ["part_error", "damaged_parts"], ["hash"], everything.columns]
    for index, predicate in enumerate(predicates):
        lazy, eager = (frame, everything) if predicate is None else (frame.filter(predicate), everything.filter(predicate))
        for names in projections[index % 3 :: 3] if index else projections:
            assert lazy.select(names).collect().equals(eager.select(names)), (str(predicate), names)
        assert lazy.select("address").head(5).collect().equals(eager.select("address").head(5)), str(predicate)
        assert lazy.select(pl.len()).collect().item() == eager.height
    of_cgeo = meshmap.scan(paths, formats=["cgeo", "iqm"])
    for known in (col("format") == "cgeo", col("format") == "tmf", col("format").is_null()):
        assert of_cgeo.filter(known).collect().equals(of_cgeo.collect().filter(known))


def raw_file(path: Path, vertices: int) -> str:
    """An OpenCTM file that is not compressed: positions, and normals after them."""
    head = b"OCTM" + np.array([5], "<u4").tobytes() + b"RAW\0" + np.array([vertices, 1, 0, 0, 1, 0], "<u4").tobytes()
    arrays = b"VERT" + bytes(12 * vertices) + b"NORM" + bytes(12 * vertices)
    path.write_bytes(head + b"INDX" + np.array([0, 1, 2], "<u4").tobytes() + arrays)
    return str(path)


def megabytes_read(work: Callable[[], Any]) -> float:
    """The bytes that this process reads from files for some work that it does a second time."""
    def count() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    work()
    before = count()
    work()
    return (count() - before) / 1e6


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts by /proc")
def test_what_engines_md_says_is_pushed_down(tmp_path: Path) -> None:
    pl: Any = pytest.importorskip("polars")
    # A file has 6 MB of positions and 6 MB of normals.
    for index in range(4):
        raw_file(tmp_path / f"{index}.ctm", 500_000)
    shutil.copy(DATA / "iqm/valid/custom.iqm", tmp_path / "z.iqm")
    col = pl.col
    full, hashed = meshmap.scan(tmp_path, full=True), meshmap.scan(tmp_path, hash=True)
    arrays = meshmap.scan(tmp_path, geometry=["path", "format", "index", "position", "normal"])
    headers = "path format address name role level seconds file_bytes mesh_bytes material identity hash path_bytes".split()
    first = str(tmp_path / "0.ctm")
    # The least and the most megabytes that each frame reads.
    claims = [
        *((full.select(name), 0, 1) for name in headers),
        (full.select("triangles"), 24, 26),
        (full.select("min_x"), 24, 26),
        (full.select("error"), 48, 200),
        (full.select("part_error"), 48, 200),
        (full.select("notes"), 48, 200),
        (hashed.select("path", "triangles"), 0, 1),
        (hashed.select("hash"), 48, 50),
        (arrays.select("index"), 0, 1),
        (arrays.select("normal"), 24, 26),
        (full.select("min_x").head(1), 6, 7),
        (full.filter(col("path") == first).select("min_x"), 6, 7),
        (full.filter((col("path") == first) & (col("min_x") == 0)).select("min_x"), 6, 7),
        (full.filter((col("min_x") == 0) & (col("path") == first) & (col("format") == "openctm")).select("path"), 6, 7),
        (full.filter(col("format") == "iqm").select("triangles"), 0, 1),
        (full.filter((col("format") == "iqm") & (col("triangles") > 0)).select("path"), 0, 1),
        (arrays.filter(col("path") == first).select("position"), 6, 7),
        (full.filter(col("path") == "nothing").select("min_x"), 0, 0.1),
    ]
    for frame, least, most in claims:
        read = megabytes_read(frame.collect)
        assert least <= read <= most, (read, frame.explain())
    # Other predicates and relations read everything.
    assert full.filter(col("triangles") == 5).select("min_x").collect().height == 0
    duckdb = pytest.importorskip("duckdb")
    relation = meshmap.relation(tmp_path, full=True, connection=duckdb.connect())
    assert megabytes_read(relation.project("path").fetchall) > 48
    named = meshmap.relation(tmp_path, full=True, columns=["path"], connection=duckdb.connect())
    assert megabytes_read(named.fetchall) < 1


def test_catalogues_and_parts_of_files_are_pickled(iqm: Path, cgeo: Path) -> None:
    def again(value: Any) -> Any:
        return pickle.loads(pickle.dumps(value))

    for made in (meshmap.catalog([DATA], columns=["path"]), meshmap.geometry(str(iqm), drawn=True)):
        assert pa.table(again(made)).equals(pa.table(made))
    opened: list[tuple[str, Any]] = [("path", meshmap.open(iqm)), ("bytes", meshmap.open(iqm.read_bytes()))]
    with iqm.open("rb") as binary:
        opened.append(("file object", meshmap.open(binary)))
        for name, file in opened:
            mesh = file.mesh()
            np.testing.assert_array_equal(again(mesh)["position"], mesh["position"], err_msg=name)
            np.testing.assert_array_equal(again(mesh.by_material()).indices, mesh.by_material().indices)
            np.testing.assert_array_equal(again(file.skeleton).bind_matrices, file.skeleton.bind_matrices)
            np.testing.assert_array_equal(again(file.vertex_arrays[1]).values, file.vertex_arrays[1].values)
    for value in (*file.meshes(), *file.arrays(), *file.joints, *file.anims, *file.submeshes, *mesh.groups):
        assert repr(again(value)) == repr(value)
        fields = [name for name in dir(value) if not name.startswith("_")]
        assert [getattr(again(value), name) for name in fields] == [getattr(value, name) for name in fields]
    proxy = meshmap.CGeoFile.open(cgeo)
    np.testing.assert_array_equal(again(proxy.snapshots[3]).positions(), proxy.snapshots[3].positions())
    assert len(again(proxy.snapshots)) == len(proxy.snapshots)
    # Decoded snapshots and their triangles, by path and by bytes: also from a cache, and with some of the parts.
    cache = meshmap.SnapshotCache(1 << 20)
    for file in (proxy, meshmap.CGeoFile.open(cgeo.read_bytes())):
        snapshot = file.snapshots[3]
        for decoded in (snapshot.decode(), cache.get(file, 3), again(snapshot.decode())):
            np.testing.assert_array_equal(again(decoded).normals, snapshot.normals())
            np.testing.assert_array_equal(again(decoded.triangles).positions, snapshot.triangles().positions)
            assert again(decoded).is_complete == snapshot.is_complete
        for parts in (["positions"], ["triangles"], []):
            assert again(snapshot.decode(parts=parts)).parts == parts  # type: ignore[arg-type]
        np.testing.assert_array_equal(again(snapshot.triangles()).material_ids, snapshot.triangles().material_ids)
    for path, _ in valid_files(large=False):
        file = meshmap.open(path)
        if isinstance(file, meshmap.SlMeshFile) and (block := file.lod()) is not None and len(block):
            np.testing.assert_array_equal(again(block[0]).indices, block[0].indices)
            assert repr(again(block)) == repr(block)
        if isinstance(file, meshmap.OpenCtmFile):
            np.testing.assert_array_equal(again(file.bodies[0]).positions, file.bodies[0].positions)
        if isinstance(file, meshmap.TmfFile) and file.stored_meshes:
            assert repr(again(file.stored_meshes[0])) == repr(file.stored_meshes[0])


def test_jobs_write_what_is_missing(tmp_path: Path, iqm: Path, cgeo: Path) -> None:
    from meshmap import jobs

    base = tmp_path / "assets"
    (base / "below").mkdir(parents=True)
    shutil.copy(iqm, base / "a.iqm")
    shutil.copy(cgeo, base / "below" / "b.cgeo")
    bad = sorted((DATA / "iqm" / "bad").glob("*.iqm"))[0]
    shutil.copy(bad, base / "c.iqm")
    paths, out = meshmap.find(base), tmp_path / "out"
    first = jobs.convert(paths, out, base=str(base))
    assert first.schema == jobs.CONVERT
    assert dict(zip(paths, first["state"].to_pylist(), strict=True)) == {
        str(base / "a.iqm"): "written",
        str(base / "below" / "b.cgeo"): "written",
        str(base / "c.iqm"): "failed",
    }
    written = [Path(path) for path in first["output"].to_pylist() if path]
    assert {path.relative_to(out).as_posix() for path in written} == {"a.iqm.glb", "below/b.cgeo.glb"}
    times = [path.stat().st_mtime_ns for path in written]
    second = jobs.convert(paths, out, base=str(base))
    assert sorted(second["state"].to_pylist()) == ["failed", "up_to_date", "up_to_date"]
    assert [path.stat().st_mtime_ns for path in written] == times
    # Other options, a changed output, and a changed file are written again.
    assert "up_to_date" not in jobs.convert(paths, out, base=str(base), up="z")["state"].to_pylist()
    jobs.convert(paths, out, base=str(base))
    (out / "a.iqm.glb").write_bytes(b"")
    assert sorted(jobs.convert(paths, out, base=str(base))["state"].to_pylist()) == ["failed", "up_to_date", "written"]
    assert (out / "a.iqm.glb").read_bytes()[:4] == b"glTF"
    # Outputs stay below their folder.
    outside = jobs.convert([str(iqm)], out, base=str(base))
    assert outside["state"].to_pylist() == ["failed"]
    assert jobs.missing(paths, first) == []
    shutil.copy(cgeo, base / "a.iqm")
    assert jobs.missing(paths, first) == [str(base / "a.iqm")]
    with pytest.raises(ValueError, match="is no job"):
        jobs.job("draw")  # type: ignore[arg-type]


def test_jobs_write_again_when_a_texture_appears_or_changes(tmp_path: Path) -> None:
    from meshmap import jobs

    shutil.copy(DATA / "textures/crate.iqm", tmp_path)
    paths, out = [str(tmp_path / "crate.iqm")], tmp_path / "out"

    def run() -> str:
        return str(jobs.convert(paths, out)["state"].to_pylist()[0])

    assert [run(), run()] == ["written", "up_to_date"]
    shutil.copy(DATA / "textures/crate.png", tmp_path)
    assert [run(), run()] == ["written", "up_to_date"]
    (tmp_path / "crate.png").unlink()
    assert [run(), run()] == ["written", "up_to_date"]


def test_verdicts_are_those_of_the_command() -> None:
    import json
    import subprocess
    import sys

    from meshmap import jobs

    paths = meshmap.find(DATA)
    table = jobs.verify(paths)
    assert table["path"].to_pylist() == paths
    listed = "\0".join(map(str, paths)).encode()
    command = [sys.executable, "-m", "meshmap", "verify", "--json", "--files-from", "-", "-0"]
    told = subprocess.run(command, input=listed, capture_output=True, check=False).stdout.splitlines()
    def fails(line: dict[str, Any]) -> bool:
        unusable = [finding for finding in line["findings"] if finding["severity"] == "unusable"]
        return bool(line["error"] or unusable or any(part["state"] == "damaged" for part in line["parts"]))

    passes = {line["path"]: not fails(line) for line in map(json.loads, told)}
    assert [passes[path] for path in paths] == table["passes"].to_pylist()
    assert table["error"].null_count == sum(passes.values())


def test_rows_of_a_file_end_with_its_limit_of_work() -> None:
    """Whichever rows are decoded together, the same one is the last."""
    path = DATA.parent / "attack" / "s_faces_x_joints.slmesh"
    table = pa.table(meshmap.geometry([path, path], columns=["address", "error_kind", "error"]))
    first = table.slice(0, table.num_rows // 2)
    assert first.equals(table.slice(table.num_rows // 2)) and first.num_rows < 1000
    assert first["error_kind"].to_pylist() == [None] * (first.num_rows - 1) + ["limit_exceeded"]
    assert "geometry of the meshes exceeds the limit of 2 GiB of decoding" in first["error"][-1].as_py()
