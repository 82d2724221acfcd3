"""Tasks from tables of files, joins with earlier results, and tables of earlier versions."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import meshmap
from meshmap import _meshmap, jobs
from meshmap._plan import Task

from conftest import DATA

COUNT = 25_000


@pytest.fixture(scope="module")
def files() -> pa.Table:
    """Files of a store that nobody lists."""
    paths = [f"s3://bucket/{number // 1000:03}/{number:05}.iqm" for number in range(COUNT)]
    versions = [f"tag{number}" for number in range(COUNT)]
    return pa.table({"path": paths, "size": pa.array([10 + number % 7 for number in range(COUNT)]), "version": versions})


def paths(tasks: list[Task]) -> list[str]:
    return [str(path) for task in tasks for path in task.paths()]


def done_of(files: pa.Table, step: int) -> pa.Table:
    """The results of an earlier run, which has each n-th file."""
    part = files.take(pa.array(range(0, files.num_rows, step)))
    nothing = pa.nulls(part.num_rows, pa.string())
    return pa.table({"path": part["path"], "path_bytes": nothing, "identity": part["version"], "error_kind": nothing})


def test_tables_of_all_kinds_are_sources(files: pa.Table, tmp_path: Path) -> None:
    expected = files["path"].to_pylist()
    folder = tmp_path / "several.parquet"
    folder.mkdir()
    pq.write_table(files, tmp_path / "one.parquet", row_group_size=7000)
    for number, start in enumerate(range(0, COUNT, 9000)):
        pq.write_table(files.slice(start, 9000), folder / f"{number}.parquet")
    sources = [
        files,
        pa.RecordBatchReader.from_batches(files.schema, files.to_batches(max_chunksize=777)),
        pyarrow.dataset.dataset(folder),
        tmp_path / "one.parquet",
        str(folder),
    ]
    for source in sources:
        tasks = list(jobs.each_task(source, least_tasks=8))
        assert paths(tasks) == expected
        assert len(tasks) >= 8 and all(task.files <= 1000 for task in tasks)
        assert sum(task.size for task in tasks) == pa.compute.sum(files["size"]).as_py()
        again = [pickle.loads(pickle.dumps(task)) for task in tasks]
        assert [task.listed() for task in again] == [task.listed() for task in tasks]
        assert {file.version for file in tasks[0].listed()} <= set(files["version"].to_pylist())
    # A small part of a large table is pickled by itself.
    assert max(len(pickle.dumps(task)) for task in tasks) < 100_000


def test_columns_other_than_paths_may_be_missing(iqm: Path, tmp_path: Path) -> None:
    (task,) = jobs.tasks(pa.table({"path": [str(iqm)]}))
    assert task.paths() == [str(iqm)] and jobs.verify(task)["passes"].to_pylist() == [True]
    with pytest.raises(ValueError, match="columns path, size and version.*found name"):
        jobs.tasks(pa.table({"name": [str(iqm)]}))
    with pytest.raises(FileNotFoundError, match="no mesh files in a Table"):
        jobs.tasks(pa.table({"path": pa.array([], pa.string())}))
    # Sources of several kinds.
    assert paths(jobs.tasks([str(iqm), pa.table({"path": ["s3://bucket/a.iqm"]})])) == [str(iqm), "s3://bucket/a.iqm"]


INVENTORY = [
    # Bucket, key, version, is it the latest, is it a mark of a deleted one, size, ETag.
    ("b", "a/x.iqm", "v1", True, False, 7, "tag1"),
    ("b", "a/x.iqm", "v0", False, False, 8, "tag0"),
    ("b", "a/gone.iqm", "v2", True, True, None, None),
    ("b", "a/notes.txt", "v3", True, False, 9, "tag3"),
    ("b", "a/MESH.CTM", None, True, False, 10, "tag4"),
    ("b", "a/new #1 (50%).tmf", "v5", True, False, 11, None),
]
EXPECTED = [("s3://b/a/x.iqm", 7, "tag1"), ("s3://b/a/MESH.CTM", 10, "tag4"), ("s3://b/a/new%20%231%20(50%25).tmf", 11, "v5")]
NAMES = ["bucket", "key", "version_id", "is_latest", "is_delete_marker", "size", "e_tag"]


def inventory() -> pa.Table:
    return pa.table([pa.array(column) for column in zip(*INVENTORY, strict=True)], NAMES)


def told(tasks: list[Task]) -> list[tuple[str, int, str | None]]:
    return [(str(file.path), file.size, file.version) for task in tasks for file in task.listed()]


@pytest.mark.parametrize("kind", ["Parquet", "ORC", "CSV"])
def test_an_inventory_of_s3_is_a_source(kind: str, tmp_path: Path) -> None:
    try:
        _meshmap.url_of_key(meshmap.RemoteUrl("s3://b/"), "x")
    except meshmap.Error as error:
        pytest.skip(str(error))
    data, folder = tmp_path / "inventory" / "data", tmp_path / "inventory" / "2026-11-30T01-00Z"
    data.mkdir(parents=True)
    folder.mkdir()
    schema = ", ".join(NAMES)
    if kind == "Parquet":
        pq.write_table(inventory(), data / "1.part")
    elif kind == "ORC":
        pa.orc.write_table(inventory(), data / "1.part")
    else:
        schema = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, ETag"
        lines = []
        for bucket, key, version, latest, marker, size, tag in INVENTORY:
            key = key.replace("%", "%25").replace(" ", "+").replace("#", "%23")
            texts = [bucket, key, version, str(latest).lower(), str(marker).lower(), size, tag]
            lines.append(",".join(f'"{"" if text is None else text}"' for text in texts))
        (data / "1.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    name = "1.csv.gz" if kind == "CSV" else "1.part"
    manifest = {"fileFormat": kind, "fileSchema": schema, "files": [{"key": f"x/b/daily/data/{name}", "size": 1}]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert told(jobs.tasks(folder / "manifest.json")) == EXPECTED
    if kind == "Parquet":
        shutil.copy(data / "1.part", tmp_path / "inventory.parquet")
        assert told(jobs.tasks(tmp_path / "inventory.parquet")) == told(jobs.tasks(inventory())) == EXPECTED


@pytest.mark.parametrize("step", [1, 2, 3, 1000])
def test_what_an_earlier_run_has_is_left_out(files: pa.Table, step: int) -> None:
    done = done_of(files, step)
    expected = [path for number, path in enumerate(files["path"].to_pylist()) if number % step]
    assert paths(jobs.tasks(files, done=done)) == expected
    assert [str(path) for path in jobs.missing(files, done)] == expected
    # Other types of texts, and other versions of the files.
    large = done.cast(pa.schema([pa.field(name, pa.large_string()) for name in done.schema.names]))
    assert paths(jobs.tasks(files, done=large)) == expected
    others = files.set_column(2, "version", pa.array([f"new{number}" for number in range(COUNT)]))
    assert len(paths(jobs.tasks(others, done=done))) == COUNT


def test_rows_of_local_files_are_joined_by_the_files(iqm: Path, tmp_path: Path) -> None:
    kept, changed, new = (tmp_path / f"{name}.iqm" for name in ("kept", "changed", "new"))
    for path in (kept, changed, new):
        shutil.copy(iqm, path)
    done = jobs.verify([kept, changed])
    changed.write_bytes(changed.read_bytes() + b" ")
    table = pa.table({"path": [str(kept), str(changed), str(new)]})
    assert jobs.missing(table, done) == [str(changed), str(new)] == jobs.missing([kept, changed, new], done)


def test_every_table_has_a_version(iqm: Path, tmp_path: Path) -> None:
    version = {b"meshmap.schema": str(_meshmap.SCHEMA_VERSION).encode()}
    made = [
        jobs.catalog([iqm]),
        jobs.catalog([iqm], geometry=True),
        jobs.verify([iqm]),
        jobs.convert([iqm], tmp_path / "out"),
    ]
    for table in made:
        assert table.schema.metadata == version
        pq.write_table(table, tmp_path / "table.parquet")
        read = pq.read_table(tmp_path / "table.parquet")
        assert jobs.upgraded(read).equals(jobs.upgraded(table))
        assert jobs.upgraded(table).equals(table, check_metadata=True)
    later = made[0].replace_schema_metadata({b"meshmap.schema": b"99"})
    with pytest.raises(ValueError, match=f"version 99, and meshmap {meshmap.__version__} knows tables up to version"):
        jobs.missing([iqm], later)


def test_tables_of_version_1_join() -> None:
    """Tables that an earlier package wrote: see tests/data/MANIFEST.md."""
    for name in ("catalog", "verify", "convert"):
        old = pq.read_table(DATA / "tables" / f"{name}.v1.parquet")
        assert old.num_rows > 3
        new = jobs.upgraded(old)
        assert new.schema.names == old.schema.names
        rows = zip(old["path"].to_pylist(), old["identity"].to_pylist(), new["identity"].to_pylist(), strict=True)
        for path, before, after in rows:
            # The number of the device is left out.
            is_local = before is not None and not path.startswith("s3://")
            assert after == (before.partition("-")[2] if is_local else before)
            assert not is_local or after.count("-") == 2
        known = new.filter(pa.compute.is_valid(new["identity"]))
        files = pa.table({"path": known["path"], "version": known["identity"]}).group_by(["path", "version"]).aggregate([])
        assert files.num_rows > 3
        # Both the table as it was and the upgraded one join.
        for done in (old, new):
            assert jobs.missing(files, done) == []
            assert list(jobs.each_task(files, done=done)) == []
