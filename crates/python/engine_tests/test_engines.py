"""Ray and Spark give the rows that pyarrow alone and DuckDB give, also where a worker is killed in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import jobs  # noqa: E402

import meshmap  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("MESHMAP_CORPUS") or ROOT / "tests" / "data")
ENGINES = ("ray", "spark")


def key(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("" if value is None else repr(value) for value in row)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in an order that does not depend on who made them."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=key)


def run(engine: str, job: str, output: Path, *more: str, folder: Path = FOLDER) -> pa.Table:
    command = [sys.executable, str(EXAMPLES / f"{engine}_job.py"), job, str(folder), "-o", str(output), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=570, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    print(done.stdout.strip().splitlines()[-1])
    return pyarrow.parquet.read_table(output)


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, ...]]:
    """What pyarrow alone makes of the corpus."""
    paths = jobs.files_below(str(FOLDER))
    table = pa.table(meshmap.catalog(paths, full=True))
    errors = table.filter(pa.compute.is_valid(table["error_kind"])).num_rows
    print(f"pyarrow: {len(paths)} files, {table.num_rows} rows, {errors} of them errors")
    assert len(paths) > 100 and errors > 50
    return rows(table)


def test_duckdb_reads_equal_rows(expected: list[tuple[Any, ...]]) -> None:
    catalog = meshmap.catalog(jobs.files_below(str(FOLDER)), full=True)
    assert sorted(duckdb.sql("select * from catalog").fetchall(), key=key) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("killed", [False, True])
def test_engines_give_equal_rows(
    engine: str, killed: bool, expected: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    marker = tmp_path / "a worker was killed"
    more = ["--full", *(["--die-once", str(marker)] if killed else [])]
    assert rows(run(engine, "catalog", tmp_path / "assets.parquet", *more)) == expected
    assert marker.exists() == killed


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_give_equal_velocities(engine: str, tmp_path: Path) -> None:
    folder = ROOT / "tests" / "data" / "cgeo"
    table = run(engine, "velocities", tmp_path / "velocities.parquet", folder=folder)
    assert rows(table) == rows(jobs.velocities(jobs.files_below(str(folder))))
    assert table.num_rows > 50


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_convert_a_tree(engine: str, tmp_path: Path) -> None:
    folder = ROOT / "tests" / "data" / "iqm"
    out = tmp_path / "out"
    table = run(engine, "convert", tmp_path / "converted.parquet", "--into", str(out), folder=folder)
    written = [row["output"] for row in table.to_pylist() if row["output"]]
    assert written and all(Path(path).read_bytes()[:4] == b"glTF" for path in written)
    assert table.num_rows == len(jobs.files_below(str(folder)))
