"""Catalogues: the same rows from every reader of Arrow, and from the command."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, roots

import meshmap

pa = pytest.importorskip("pyarrow")


def rows(table: Any) -> list[tuple[Any, ...]]:
    """The rows, without the option that raises a limit, which has another name in the command."""
    return of_tuples(tuple(row.values()) for row in table.to_pylist())


def of_tuples(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows, as of ``rows``."""
    return [tuple(map(without_option, row)) for row in rows]


def without_option(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    for option in ("--max-memory", "--max-output", "max_total_bytes="):
        cell = cell.removesuffix(f"; raise it with {option}")
    return cell


def test_every_file_has_rows_and_bad_files_are_rows() -> None:
    table = pa.table(meshmap.catalog([*roots()]))
    assert table.schema.names[:3] == ["path", "format", "address"]
    errors = [row for row in table.to_pylist() if row["error_kind"]]
    good = [row for row in table.to_pylist() if not row["error_kind"]]
    assert errors and good
    assert {row["format"] for row in good} == {"cgeo", "iqm", "openctm", "slmesh", "tmf"}
    assert all(row["error"] and "\n" not in row["error"] for row in errors)
    assert all(row["identity"] and row["file_bytes"] >= 0 for row in good)
    print(f"{len(meshmap.catalog([*roots()]))} files, {table.num_rows} rows, {len(errors)} of them errors")


def test_the_identity_of_a_file_is_the_same_after_a_mount(iqm: Path) -> None:
    from meshmap import jobs

    # A file system that is mounted again has another number of the device.
    status = iqm.stat()
    row = pa.table(meshmap.catalog(iqm, columns=["identity"])).to_pylist()[0]
    inode = status.st_ino if os.name == "posix" else 0
    assert row["identity"] == f"{inode:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
    assert jobs.missing(iqm, jobs.verify([str(iqm)])) == []


def test_headers_say_what_decoding_finds() -> None:
    headers = {(row["path"], row["address"]): row for row in pa.table(meshmap.catalog([DATA])).to_pylist()}
    compared = 0
    for row in pa.table(meshmap.catalog([DATA], full=True)).to_pylist():
        said = headers[row["path"], row["address"]]
        for name in ("vertices", "triangles", "mesh_bytes", "role", "name"):
            if said[name] is not None and not row["error"] and row["format"] != "cgeo":
                assert said[name] == row[name], row["path"]
                compared += 1
    assert compared > 100


def test_full_catalogues_have_counts_boxes_and_more_errors(iqm: Path) -> None:
    row = pa.table(meshmap.catalog(iqm, full=True, hash=True)).to_pylist()[0]
    mesh = meshmap.open(iqm).mesh(0)
    assert mesh.bounds is not None
    assert [row["min_x"], row["min_y"], row["min_z"]] == list(mesh.bounds[0])
    assert [row["max_x"], row["max_y"], row["max_z"]] == list(mesh.bounds[1])
    assert len(row["hash"]) == 64
    few = sum(row["error"] is not None for row in pa.table(meshmap.catalog([DATA])).to_pylist())
    many = sum(row["error"] is not None for row in pa.table(meshmap.catalog([DATA], full=True)).to_pylist())
    assert many > few


@pytest.mark.parametrize("full", [False, True])
def test_pyarrow_duckdb_and_polars_read_equal_rows(full: bool) -> None:
    expected = rows(pa.table(meshmap.catalog([DATA], full=full)))
    batches = pa.RecordBatchReader.from_stream(meshmap.catalog([DATA], full=full, batch_rows=7))
    assert rows(batches.read_all()) == expected
    duckdb = pytest.importorskip("duckdb")
    catalog = pa.RecordBatchReader.from_stream(meshmap.catalog([DATA], full=full))
    assert of_tuples(duckdb.sql("select * from catalog").fetchall()) == expected
    direct = meshmap.catalog([DATA], full=full)
    assert of_tuples(duckdb.sql("select * from direct").fetchall()) == expected
    polars = pytest.importorskip("polars")
    assert of_tuples(polars.DataFrame(meshmap.catalog([DATA], full=full)).rows()) == expected


def cell(text: str) -> str:
    """A text in CSV: control characters are escaped, and nothing is a formula."""
    escaped = "".join({"\0": "\\0", "\n": "\\n"}.get(c, c) for c in text)
    return "'" + escaped if escaped.startswith(("=", "+", "-", "@")) else escaped


def test_the_command_writes_the_same_as_parquet_arrow_and_csv(tmp_path: Path) -> None:
    expected = pa.table(meshmap.catalog([DATA], full=True))
    run = [sys.executable, "-m", "meshmap", "catalog", str(DATA), "--full"]
    for name in ("assets.parquet", "assets.arrow", "assets.csv"):
        done = subprocess.run([*run, "-o", str(tmp_path / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 1, "some files are bad"
        assert f"{expected.num_rows} row" in done.stdout.replace(",", "")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert rows(parquet.read_table(tmp_path / "assets.parquet")) == rows(expected)
    with pa.ipc.open_file(tmp_path / "assets.arrow") as reader:
        assert rows(reader.read_all()) == rows(expected)
    with (tmp_path / "assets.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == expected.num_rows
    for line, row in zip(lines, expected.to_pylist(), strict=True):
        for name, value in row.items():
            found: Any = line[name]
            if isinstance(value, float):
                found, value = float(found), float(value)
                assert found == pytest.approx(value, rel=1e-6)
            else:
                assert without_option(found) == ("" if value is None else cell(str(without_option(value)))), name
    written = (tmp_path / "assets.csv").read_bytes()
    (tmp_path / "assets.csv").write_text("another file")
    again = subprocess.run([*run, "-o", str(tmp_path / "assets.csv")], capture_output=True, check=False)
    assert again.returncode == 1
    assert (tmp_path / "assets.csv").read_bytes() == written


def test_readers_are_catalogued_by_name_and_identity(iqm: Path) -> None:
    data = iqm.read_bytes()
    asked = 0

    def read(start: int, stop: int) -> bytes:
        nonlocal asked
        asked += stop - start
        return data[start:stop]

    table = pa.table(meshmap.catalog([("s3://assets/model.iqm", read, len(data), "etag-1")]))
    row = table.to_pylist()[0]
    assert (row["path"], row["identity"], row["format"]) == ("s3://assets/model.iqm", "etag-1", "iqm")
    assert row["vertices"] == meshmap.open(iqm).mesh(0).vertex_count
    # The first bytes are read to find the format, and again with the header.
    assert asked <= 2 * len(data)

    def broken(start: int, stop: int) -> bytes:
        raise OSError("no network")

    row = pa.table(meshmap.catalog([("a", broken, 1000)])).to_pylist()[0]
    assert row["error_kind"] == "io" and "no network" in row["error"]


def test_missing_files_are_rows_and_wrong_arguments_are_not(tmp_path: Path) -> None:
    row = pa.table(meshmap.catalog(tmp_path / "nothing.iqm")).to_pylist()[0]
    assert row["error_kind"] == "not_found"
    with pytest.raises(TypeError):
        meshmap.catalog([1])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        meshmap.catalog([("name",)])  # type: ignore[list-item]
    assert pa.table(meshmap.catalog([])).num_rows == 0
    assert pa.table(meshmap.catalog(tmp_path)).num_rows == 0


def test_a_stream_is_read_again_each_time(tmp_path: Path, iqm: Path) -> None:
    shutil.copy(iqm, tmp_path / "a.iqm")
    catalog = meshmap.catalog(tmp_path)
    first = rows(pa.table(catalog))
    assert rows(pa.table(catalog)) == first and len(catalog) == 1
