"""Ray and Spark from the installed wheel: no row is lost or doubled where workers are killed, also for files in S3.

Each job is a separate process in an empty folder. One of its files is a pipe: the worker that opens it is killed, three times, and the
fourth one is given a file.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet
import pytest
from moto.server import ThreadedMotoServer

import meshmap
from meshmap import jobs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conftest import DATA, bad_files, valid_files  # noqa: E402
from test_isolated import kill_all_readers  # noqa: E402
from test_tables import assert_equal_to_the_arrays  # noqa: E402

ENGINES = ("ray", "spark")
FILES = 3000
KILLS = 3

START = {
    "ray": """
        import ray
        ray.init(include_dashboard=False, log_to_driver=False, num_cpus=2)
        ray.data.DataContext.get_current().enable_progress_bars = False
        import meshmap.ray
        def table(data):
            tables = [ray.get(part) for part in data.to_arrow_refs()]
            return pa.concat_tables([part for part in tables if part.num_columns])
        def read(**options): return table(meshmap.ray.read(SOURCES, **options))
        def run(name, **options): return table(meshmap.ray.run(name, SOURCES, **options))
    """,
    "spark": """
        from pyspark.sql import SparkSession
        # A task is tried up to four times.
        spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        import meshmap.spark
        def text(value):
            return ",".join(value) if isinstance(value, list) else str(value).lower()
        def read(**options):
            reader = spark.read.format("meshmap")
            for name, value in options.items():
                reader = reader.option(name, text(value))
            return reader.load(SOURCES).toArrow()
        def run(name, **options): return meshmap.spark.run(spark, name, SOURCES, **options).toArrow()
    """,
}


def start(engine: str, what: str, sources: list[str], folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that writes the table ``what`` to ``out.parquet`` in an empty folder."""
    folder.mkdir()
    program = "import meshmap, pyarrow as pa, pyarrow.parquet\nfrom meshmap import jobs\n" + f"SOURCES = {sources!r}\n" + textwrap.dedent(START[engine])
    program += f"pa.parquet.write_table({what}, 'out.parquet')\n"
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, **environment},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str], folder: Path) -> pa.Table:
    output, _ = process.communicate(timeout=150)
    assert process.returncode == 0, output[-4000:]
    return pyarrow.parquet.read_table(folder / "out.parquet")


def key(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("" if value is None else repr(value) for value in row)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in an order that does not depend on who made them."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=key)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 files, a tenth of them invalid."""
    folder = tmp_path_factory.mktemp("assets")
    valid = [path for path, _ in valid_files(large=False) if path.stat().st_size < 100_000]
    bad = [path for path, want in bad_files() if want == "error" and path.stat().st_size < 100_000]
    assert len(valid) > 100 and len(bad) > 100
    for index in range(FILES):
        source = bad[index // 10 % len(bad)] if index % 10 == 0 else valid[index % len(valid)]
        below = folder / f"{index % 7}"
        below.mkdir(exist_ok=True)
        shutil.copyfile(source, below / f"{index:04}{source.suffix}")
    return folder


@pytest.fixture
def pipe(tmp_path: Path, cgeo: Path) -> Iterator[Path]:
    path = tmp_path / "pipe.cgeo"
    os.mkfifo(path)
    yield path


@pytest.fixture
def cgeo() -> Path:
    return DATA / "cgeo" / "valid" / "anim_a.cgeo"


def readers(pipe: Path, own: int) -> list[int]:
    """The processes that have opened a pipe."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(entry) == str(pipe) and int(entry.parts[2]) != own:
                found.append(int(entry.parts[2]))
        except OSError:
            continue
    return found


def kill_readers_and_feed(pipe: Path, data: bytes, process: subprocess.Popen[str]) -> None:
    """Kills the first three workers that open a pipe, and gives all later ones a file until the process has ended."""
    for _ in range(KILLS):
        writer = opened(pipe, process)
        assert writer is not None, process.communicate()[0][-4000:]
        while not (victims := readers(pipe, os.getpid())):
            time.sleep(0.01)
        assert process.pid not in victims
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        os.close(writer)

    def feed() -> None:
        while (writer := opened(pipe, process)) is not None:
            os.set_blocking(writer, True)
            with os.fdopen(writer, "wb") as file:
                file.write(data)
            while process.poll() is None and readers(pipe, os.getpid()):
                time.sleep(0.01)

    threading.Thread(target=feed, daemon=True).start()


def kill_writers(folder: Path, process: subprocess.Popen[str]) -> None:
    """Kills three workers while they write a file in a folder."""
    for kill in range(KILLS):
        victims: set[int] = set()
        while not victims:
            assert process.poll() is None, f"{kill} killed: {process.communicate()[0][-4000:]}"
            victims = writers(folder)
        assert process.pid not in victims
        for victim in victims:
            os.kill(victim, signal.SIGKILL)


def writers(folder: Path) -> set[int]:
    """The processes that have opened a part of an output."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # To look into all processes takes longer than a file is open.
            if (entry / "comm").read_text().startswith(("python", "ray::")):
                paths = [os.readlink(opened) for opened in (entry / "fd").iterdir()]
                if any(path.startswith(f"{folder}/") and path.endswith(".part") for path in paths):
                    found.add(int(entry.name))
        except OSError:
            continue
    return found


def opened(pipe: Path, process: subprocess.Popen[str]) -> int | None:
    """Opens a pipe for writing as soon as a worker reads it; None if the process has ended."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.02)
    return None


def without_identity(table: pa.Table) -> pa.Table:
    """A pipe and its file are other versions."""
    return table.drop_columns([name for name in ("identity", "file_bytes") if name in table.column_names])


@pytest.mark.parametrize("engine", ENGINES)
def test_killed_workers_lose_and_double_nothing(engine: str, tree: Path, pipe: Path, cgeo: Path, tmp_path: Path) -> None:
    process = start(engine, "read(full=True)", [str(tree), str(pipe)], tmp_path / "empty")
    kill_readers_and_feed(pipe, cgeo.read_bytes(), process)
    found = finish(process, tmp_path / "empty")
    pipe.unlink()
    shutil.copyfile(cgeo, pipe)
    expected = pa.table(meshmap.catalog([str(tree), str(pipe)], full=True))
    errors = expected["error"].length() - expected["error"].null_count
    print(f"{engine}: {FILES + 1} files, {found.num_rows} rows, {errors} of them errors, {KILLS} workers killed")
    assert errors >= FILES // 10
    assert rows(without_identity(found)) == rows(without_identity(expected))


@pytest.fixture(scope="module")
def bucket(tree: Path) -> Iterator[dict[str, str]]:
    """The tree in S3."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }
    client = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    client.create_bucket(Bucket="assets")
    for path in meshmap.find(tree):
        client.upload_file(path, "assets", f"tree/{Path(path).relative_to(tree).as_posix()}")
    yield environment
    server.stop()


@pytest.mark.parametrize("engine", ENGINES)
def test_objects_of_s3_have_the_rows_of_the_files(
    engine: str, tree: Path, bucket: dict[str, str], pipe: Path, cgeo: Path, tmp_path: Path
) -> None:
    sources = ["s3://assets/tree/", str(pipe)]
    process = start(engine, "read()", sources, tmp_path / "empty", **bucket)
    kill_readers_and_feed(pipe, cgeo.read_bytes(), process)
    found = finish(process, tmp_path / "empty")
    pipe.unlink()
    shutil.copyfile(cgeo, pipe)

    def below(table: pa.Table, folder: str) -> list[tuple[Any, ...]]:
        names = [path.removeprefix(folder) for path in table["path"].to_pylist()]
        errors = [None if error is None else error.replace(folder, "") for error in table["error"].to_pylist()]
        table = table.set_column(0, "path", pa.array(names))
        return rows(without_identity(table).drop_columns("error").append_column("error", pa.array(errors, pa.string())))

    expected = pa.table(meshmap.catalog([str(tree), str(pipe)]))
    print(f"{engine}: {found.num_rows} rows of S3, {KILLS} workers killed")
    assert below(found, "s3://assets/tree/") == below(expected, f"{tree}/")
    versions = found.filter(pa.compute.starts_with(found["path"], "s3://"))["identity"]
    assert versions.null_count == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_geometry_is_that_of_the_files(engine: str, tmp_path: Path) -> None:
    columns = ["path", "address", "error", "position", "normal", "tangent", "texcoord", "texcoord[1]", "color"]
    columns += ["joints", "weights", "index", "material_id"]
    sources = [str(path) for path, _ in valid_files(large=False)]
    found = finish(start(engine, f"read(geometry={columns!r})", sources, tmp_path / "empty"), tmp_path / "empty")
    schema = pa.schema(meshmap.geometry([], columns=columns))
    compared = assert_equal_to_the_arrays(found.cast(schema))
    print(f"{engine}: {found.num_rows} rows of geometry, {compared} arrays equal")
    assert compared > 500


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rerun_converts_what_is_missing(engine: str, tree: Path, tmp_path: Path) -> None:
    out, sources = tmp_path / "out", [str(tree)]
    what = f"run('convert', folder={str(out)!r}, base={str(tree)!r})"
    process = start(engine, what, sources, tmp_path / "first")
    kill_writers(out, process)
    first = finish(process, tmp_path / "first")
    assert sorted(first["path"].to_pylist()) == sorted(meshmap.find(tree))
    states = first["state"].to_pylist()
    print(f"{engine}: " + json.dumps({name: states.count(name) for name in set(states)}))
    # Outputs of killed workers are up to date when their tasks are run again.
    assert states.count("failed") >= FILES // 20
    assert states.count("written") + states.count("up_to_date") > FILES // 2 and "written" in states
    outputs = [path for path in first["output"].to_pylist() if path]
    assert len(set(outputs)) == len(outputs) and all(Path(path).read_bytes()[:4] == b"glTF" for path in outputs)
    assert not list(out.rglob("*.part"))
    for lost in outputs[:3]:
        Path(lost).unlink()
    second = finish(start(engine, what, [str(tree)], tmp_path / "second"), tmp_path / "second")
    again = dict(zip(second["path"].to_pylist(), second["state"].to_pylist(), strict=True))
    lost_sources = dict(zip(first["output"].to_pylist(), first["path"].to_pylist(), strict=True))
    expected = {lost_sources[lost] for lost in outputs[:3]}
    assert {path for path, state in again.items() if state == "written"} == expected
    # The outputs are equal to the outputs of one process without kills.
    whole = jobs.convert(meshmap.find(sources), tmp_path / "whole", base=str(tree))
    for output, own in zip(sorted(outputs), sorted(filter(None, whole["output"].to_pylist())), strict=True):
        assert Path(output).read_bytes() == Path(own).read_bytes(), output
    assert not list(out.rglob("*.part"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_with_nothing_to_read_fails(engine: str, tmp_path: Path) -> None:
    (tmp_path / "nothing here").mkdir()
    process = start(engine, "read()", [str(tmp_path / "nothing here")], tmp_path / "0")
    output, _ = process.communicate(timeout=200)
    assert process.returncode != 0
    assert "no mesh files in" in output, output[-2000:]
    # A path in a list is a row.
    absent = str(tmp_path / "no" / "such" / "folder")
    rows = finish(start(engine, "read()", [absent], tmp_path / "1"), tmp_path / "1").to_pylist()
    assert [(row["path"], row["error_kind"]) for row in rows] == [(absent, "not_found")]


@pytest.mark.parametrize("engine", ENGINES)
def test_verdicts_of_engines_are_those_of_the_job(engine: str, tree: Path, tmp_path: Path) -> None:
    found = finish(start(engine, "run('verify')", [str(tree)], tmp_path / "empty"), tmp_path / "empty")
    assert rows(found) == rows(jobs.verify(meshmap.find(tree)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_poisoned_file_is_one_row(engine: str, tree: Path, tmp_path: Path) -> None:
    poison = tmp_path / "poison.cgeo"
    os.mkfifo(poison)
    is_ended = threading.Event()
    killer = threading.Thread(target=kill_all_readers, args=(poison, is_ended))
    killer.start()
    try:
        sources = [str(tree / "0"), str(poison)]
        found = finish(start(engine, "run('verify', isolated=jobs.Isolated())", sources, tmp_path / "empty"), tmp_path / "empty")
    finally:
        is_ended.set()
        killer.join()
    of_poison = [row for row in found.to_pylist() if row["path"] == str(poison)]
    assert [row["error_kind"] for row in of_poison] == ["killed_worker"] and "SIGKILL" in of_poison[0]["error"]
    others = found.filter(pa.compute.not_equal(found["path"], str(poison)))
    print(f"{engine}: {others.num_rows} rows, and 1 of the poisoned file")
    assert rows(others) == rows(jobs.verify(meshmap.find(tree / "0")))
    # It is done: the next run has nothing to do.
    assert jobs.missing(sources[:1], found) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_driver_is_run_again(engine: str, tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    what = f"run('convert', folder={str(out)!r}, base={str(tree)!r})"
    process = start(engine, what, [str(tree)], tmp_path / "first")
    while len(list(out.rglob("*.glb"))) < FILES // 20:
        assert process.poll() is None, process.communicate()[0][-4000:]
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = len(list(out.rglob("*.glb")))
    second = finish(start(engine, what, [str(tree)], tmp_path / "second"), tmp_path / "second")
    states = second["state"].to_pylist()
    print(f"{engine}: {before} outputs when the driver was killed, then " + json.dumps({name: states.count(name) for name in set(states)}))
    whole = jobs.convert(meshmap.find(tree), tmp_path / "whole", base=str(tree))
    paths = second["path"].to_pylist()
    assert sorted(paths) == sorted(whole["path"].to_pylist()) and len(set(paths)) == len(paths)
    outputs = {path.relative_to(out): path.read_bytes() for path in out.rglob("*.glb")}
    assert outputs == {path.relative_to(tmp_path / "whole"): path.read_bytes() for path in (tmp_path / "whole").rglob("*.glb")}
    assert not list(out.rglob("*.part"))


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_of_another_version_are_one_error(engine: str, tree: Path, tmp_path: Path) -> None:
    what = "[setattr(meshmap._meshmap, '__version__', '9.9.9'), run('verify')][1]"
    process = start(engine, what, [str(tree / "0")], tmp_path / "empty")
    output, _ = process.communicate(timeout=200)
    assert process.returncode != 0
    assert f"the task was made by meshmap 9.9.9, and this worker has meshmap {meshmap.__version__}" in output, output[-3000:]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_is_a_plan(engine: str, tree: Path, tmp_path: Path) -> None:
    files = meshmap.find(tree / "1")
    pyarrow.parquet.write_table(pa.table({"path": files}), tmp_path / "files.parquet")
    done = jobs.verify(files[::2])
    pyarrow.parquet.write_table(done, tmp_path / "done.parquet")
    what = f"run('verify', done=pa.parquet.read_table({str(tmp_path / 'done.parquet')!r}))"
    found = finish(start(engine, what, [str(tmp_path / "files.parquet")], tmp_path / "empty"), tmp_path / "empty")
    assert rows(found) == rows(jobs.verify(files[1::2]))
