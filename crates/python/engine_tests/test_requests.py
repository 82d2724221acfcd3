"""Requests of a second run over objects of S3: no part of an object, and for a prefix nothing but lists."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from local_s3 import LocalS3
from werkzeug.serving import make_server

import meshmap
from meshmap import jobs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conftest import valid_files  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
FILES = 1000
PREFIX = "s3://counted/tree/"


@pytest.fixture(scope="module")
def served() -> Iterator[LocalS3]:
    with LocalS3().running() as counting:
        client = counting.client
        client.create_bucket(Bucket="counted")
        data = (ROOT / "tests" / "data" / "iqm" / "valid" / "skin_multi_anim.iqm").read_bytes()
        for index in range(FILES):
            client.put_object(Bucket="counted", Key=f"tree/{index % 7}/mesh {index:04}.iqm", Body=data)
        client.put_object(Bucket="counted", Key="tree/readme.txt", Body=b"no mesh")
        counting.take()
        yield counting


def test_a_second_run_fetches_no_bodies(served: LocalS3, tmp_path: Path) -> None:
    def run(task: jobs.Files) -> tuple[dict[str, int], dict[str, int]]:
        made = jobs.convert(task, tmp_path / "out", base=PREFIX)
        states = made["state"].to_pylist()
        assert made["identity"].null_count == 0
        return served.take(), {state: states.count(state) for state in set(states)}

    def listed() -> tuple[dict[str, int], dict[str, int]]:
        (task,) = jobs.tasks(PREFIX)
        return run(task)

    first, states = listed()
    assert states == {"written": FILES} and first["GET"] >= FILES
    second, states = listed()
    named, named_states = run(meshmap.find(PREFIX))
    print(f"{FILES} objects: first run {first}, second run {second}, by their names {named}")
    assert states == named_states == {"up_to_date": FILES}
    assert second == {"LIST": 2} and named == {"LIST": 2, "HEAD": FILES}
    # One object has changed.
    served.client.put_object(Bucket="counted", Key="tree/3/mesh 0003.iqm", Body=b"INTERQUAKEMODEL\0")
    served.take()
    _, states = listed()
    assert states == {"up_to_date": FILES - 1, "failed": 1}


def test_the_command_fetches_no_bodies_again(served: LocalS3, tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "list").write_text("\n".join(str(path) for path in meshmap.find(PREFIX + "*/*%2001*.iqm")))
    command = [sys.executable, "-m", "meshmap", "convert", "--to", "glb", "-o", str(tmp_path / "out")]
    for counts in ("100 files written, 0 up to date", "0 files written, 100 up to date"):
        served.take()
        done = subprocess.run([*command, "--files-from", str(tmp_path / "list")], capture_output=True, text=True, check=False)
        kinds = served.take()
        print(f"{counts}: {kinds}")
        assert counts in done.stdout, done.stdout + done.stderr
    assert set(kinds) == {"HEAD"}


def test_headers_take_one_request_a_file(served: LocalS3) -> None:
    """Files of all kinds, of which a part is longer than a first request."""
    valid = [path for path, _ in valid_files(large=True) if path.stat().st_size < 20_000_000]
    for number, path in enumerate(valid):
        served.client.put_object(Bucket="counted", Key=f"kinds/{number:04}{path.suffix}", Body=path.read_bytes())
    served.take()
    rows = pa.concat_tables([jobs.catalog(task) for task in jobs.tasks("s3://counted/kinds/")])
    kinds = served.take()
    each = kinds["GET"] / len(valid)
    print(f"headers of {len(valid)} files of all kinds: {kinds}, {each:.3f} GET for each; {rows.num_rows} rows")
    assert set(kinds) == {"LIST", "GET"} and each <= 1.1
    # Nothing at all for a plan from a table.
    table = pa.table({"path": [f"{PREFIX}{index % 7}/mesh%20{index:04}.iqm" for index in range(FILES)]})
    tasks = list(jobs.each_task(table))
    assert served.take() == {} and sum(task.files for task in tasks) == FILES


def test_requests_are_limited_by_their_rate(served: LocalS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHMAP_REQUESTS_PER_SECOND", "40")
    start = time.perf_counter()
    table = pa.table(meshmap.catalog([f"{PREFIX}0/mesh%20{index:04}.iqm" for index in range(0, 560, 7)]))
    seconds = time.perf_counter() - start
    print(f"80 files at 40 requests in a second: {seconds:.2f} s")
    assert table["error"].null_count == table.num_rows and 1.9 <= seconds < 10
    monkeypatch.setenv("MESHMAP_REQUESTS_PER_SECOND", "0")
    with pytest.raises(OSError, match="expected a number above 0"):
        meshmap.catalog(PREFIX + "0/mesh%200000.iqm")


def test_missing_over_a_prefix_only_lists(served: LocalS3) -> None:
    done = jobs.catalog(jobs.tasks(PREFIX)[0], columns=["path", "path_bytes", "identity", "error_kind"])
    served.take()
    assert jobs.missing(PREFIX, done) == []
    kinds = served.take()
    print(f"missing over {FILES} objects: {kinds}")
    assert set(kinds) == {"LIST"}
    part = done.slice(10)
    assert len(jobs.missing(PREFIX, part)) == len(set(done["path"].to_pylist()) - set(part["path"].to_pylist()))
    (task,) = jobs.tasks(PREFIX, done=part)
    assert task.paths() == jobs.missing(PREFIX, part)
    served.take()
    jobs.missing(meshmap.find(PREFIX), done)
    assert set(served.take()) == {"LIST", "HEAD"}


def test_errors_have_a_kind_and_no_xml(served: LocalS3) -> None:
    names = ["s3://counted/nothing.iqm", "s3://no-such-bucket/a.iqm", str(ROOT / "missing.iqm")]
    table = pa.table(meshmap.catalog(names, columns=["error_kind", "error"]))
    assert table["error_kind"].to_pylist() == ["not_found"] * 3
    converted = jobs.convert(names, ROOT / "target" / "nothing")
    assert converted["error_kind"].to_pylist() == ["not_found"] * 3
    with pytest.raises(FileNotFoundError) as raised:
        meshmap.find("s3://no-such-bucket/")
    errors = table["error"].to_pylist() + converted["error"].to_pylist() + [str(raised.value)]
    for error in errors:
        print(error)
        assert len(error) < 200 and not any(part in error for part in ("<", "RequestId", "HostId", "xml")), error
    with pytest.raises(FileNotFoundError, match="no mesh files in s3://counted/tree/none/"):
        meshmap.find([PREFIX, "s3://counted/tree/none/"])
    assert meshmap.find([PREFIX + "*/*0001.iqm", names[2]]) == [PREFIX + "1/mesh%200001.iqm", names[2]]


def test_settings_of_requests_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHMAP_RETRIES", "0")
    monkeypatch.setenv("MESHMAP_TIMEOUT", "2")
    requests = []

    def busy(environ, start_response):  # noqa: ANN001, ANN202
        requests.append(environ["REQUEST_METHOD"])
        start_response("503 Slow Down", [("Content-Length", "0")])
        return [b""]

    server = make_server("127.0.0.1", 0, busy, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/a.iqm"
    with pytest.raises(OSError, match="503"):
        meshmap.open(address)
    # A request for a part, and one for the head.
    assert len(requests) == 2
    monkeypatch.setenv("MESHMAP_RETRIES", "1")
    pa.table(meshmap.catalog(address))
    assert len(requests) == 2 + 4
    server.shutdown()
    monkeypatch.setenv("MESHMAP_DEADLINE", "soon")
    with pytest.raises(OSError, match="MESHMAP_DEADLINE is soon: expected seconds"):
        meshmap.catalog(address)
