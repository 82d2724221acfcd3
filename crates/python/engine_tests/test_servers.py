"""Servers and addresses: no secret of an address gets out, no server ends the process, and one object does not end a list. For
a wheel with the feature ``stores``."""

from __future__ import annotations

import html
import os
import pickle
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest

import meshmap
from meshmap import jobs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conftest import DATA  # noqa: E402

#: Texts that only the secret parts of the addresses below have.
SECRET = re.compile("[A-Z]+SECRET")


#: The columns by which ``missing`` recognizes a file.
IDENTITY = ["path", "path_bytes", "identity", "error_kind"]


@dataclass
class Server:
    """A server of one file at every path, and of a bucket with these keys."""

    data: bytes
    port: int = 0
    #: The status of every answer, in place of the file.
    status: int = 200
    keys: list[str] = field(default_factory=list)

    def address(self, path: str = "a.tmf") -> str:
        """An address of which every part that may be secret is."""
        return f"http://user:PWSECRET@127.0.0.1:{self.port}/folder/{path}?X-Amz-Signature=SIGSECRET&k=x/QSECRET.name#FSECRET"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    served = Server((DATA / "iqm" / "valid" / "skin_multi_anim.iqm").read_bytes())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            data = served.data
            if "list-type" in parse_qs(urlsplit(self.path).query):
                entries = "".join(
                    f'<Contents><Key>{html.escape(key)}</Key><LastModified>2020-01-01T00:00:00Z</LastModified><ETag>"x"</ETag>'
                    f"<Size>{len(data)}</Size></Contents>"
                    for key in served.keys
                )
                page = f'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>'
                return self.answer(200, page.encode(), {})
            if served.status != 200:
                return self.answer(served.status, self.path.encode(), {})
            headers = {"ETag": '"x"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
            asked = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if asked is None:
                return self.answer(200, data, headers)
            start, end = int(asked[1]), min(int(asked[2]) + 1, len(data))
            return self.answer(206, data[start:end], {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(data)}"})

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.port = listening.server_port
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    environment = {
        "AWS_ENDPOINT": f"http://127.0.0.1:{served.port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "KEYSECRET",
        "AWS_REGION": "us-east-1",
        "MESHMAP_RETRIES": "0",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    yield served
    listening.shutdown()
    listening.server_close()


def shown(call: Callable[[], object]) -> str:
    """Everything that people see of a result, or of an error."""
    try:
        result = call()
    except Exception as error:
        return "".join(traceback.format_exception_only(error)) + repr(error) + repr(vars(error))
    return repr(result) + str(result)


def test_no_secret_of_an_address_is_shown(server: Server, tmp_path: Path) -> None:
    address = server.address()
    folder = server.address("").replace("/?", "/*.tmf?")
    file = meshmap.open(address)
    assert isinstance(file, meshmap.File)
    calls: dict[str, Callable[[], object]] = {
        "repr": lambda: file,
        "path": lambda: file.path,
        "find the file": lambda: meshmap.find([address]),
        "paths": lambda: jobs.tasks([address])[0].paths(),
        "missing": lambda: jobs.missing([address], pa.table({name: pa.array([], pa.string()) for name in IDENTITY})),
        "polars": lambda: meshmap.scan(address).collect().to_dicts(),
        "option": lambda: meshmap.convert(file, tmp_path / "a.glb", textures=[address]),
        "option of a picture": lambda: meshmap.render(file, view=address),
        "closed": lambda: meshmap.open(address).__exit__(None, None, None),
        "info": lambda: file.info(),
        "output": lambda: meshmap.convert(file, address.replace("a.tmf", "a.glb"), to="glb"),
        "picture": lambda: meshmap.render(file, address.replace("a.tmf", "a.png")),
        "format of output": lambda: meshmap.convert(file, address.replace("a.tmf", "a.xyz")),
        "mmap": lambda: meshmap.open(address, mmap=True),
        "port": lambda: meshmap.open("http://user:PWSECRET@host:99999/a.tmf?SIGSECRET"),
        "find": lambda: meshmap.find(folder),
        "find in s3": lambda: meshmap.find("s3://AK:PWSECRET@bucket/*.iqm"),
        "tasks": lambda: jobs.tasks([address]),
        "pieces": lambda: jobs.tasks([address])[0].pieces,
        "catalog": lambda: meshmap.catalog([address]),
        "rows": lambda: pa.table(meshmap.catalog([address])).to_pylist(),
        "verify": lambda: jobs.verify([address]).to_pylist(),
        "convert": lambda: jobs.convert([address], tmp_path / "out").to_pylist(),
        "convert, base": lambda: jobs.convert([address], tmp_path / "out", base="/nowhere").to_pylist(),
        "convert, base in a store": lambda: jobs.convert([address], tmp_path / "out", base=server.address("x")).to_pylist(),
        "convert, folder": lambda: jobs.convert([address], address).to_pylist(),
        "convert, twice": lambda: jobs.convert([address, address + "x", server.address("b/a.tmf")], tmp_path / "out").to_pylist(),
    }
    leaks = {name: text for name, call in calls.items() if SECRET.search(text := shown(call))}
    server.status = 403
    for name, call in calls.items():
        if SECRET.search(text := shown(call)):
            leaks[f"{name}, refused"] = text
    assert not leaks


def test_urls_that_differ_in_their_queries_are_two_files(server: Server, tmp_path: Path) -> None:
    urls = [server.address(f"{name}.iqm") + f"&id={number}" for number, name in enumerate("aab")]
    rows = jobs.verify(urls).to_pylist()
    assert [row["path"].rpartition("/")[2] for row in rows] == ["a.iqm?..", "a.iqm?..", "b.iqm?.."]
    assert all(row["passes"] for row in rows)
    # The third one has another output; the first two would have the same.
    with pytest.raises(ValueError, match="would both be written"):
        jobs.convert(urls, tmp_path / "out")
    assert not SECRET.search(str(jobs.convert(urls[1:], tmp_path / "out").to_pylist()))


def test_predicates_see_the_text_that_is_shown(server: Server) -> None:
    polars = pytest.importorskip("polars")
    url = server.address("a.iqm")
    path = polars.col("path")
    assert meshmap.scan([url]).filter(path.str.contains("SECRET")).collect().height == 0
    (row,) = meshmap.scan([url]).filter(path.str.ends_with("a.iqm?..")).collect().to_dicts()
    assert row["path"] == f"http://127.0.0.1:{server.port}/folder/a.iqm?.."


def test_a_url_is_opened_by_text_and_by_what_is_found(server: Server) -> None:
    text = server.address("a.iqm")
    (url,) = meshmap.find([text])
    assert isinstance(url, meshmap.RemoteUrl)
    assert (url.with_secrets(), url.name) == (text, "a.iqm")
    for source in (url, pickle.loads(pickle.dumps(url))):
        file = meshmap.open(source)
        assert file.path == url and len(file) > 0
        assert pickle.loads(pickle.dumps(file)).path == url
        assert pa.table(meshmap.catalog([source])).num_rows > 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_the_error_after_a_fork_shows_no_secret(server: Server) -> None:
    script = """
import os, sys, meshmap
file = meshmap.open(sys.argv[1])
child = os.fork()
if child == 0:
    try:
        print([mesh.positions for mesh in file.values()])
    except Exception as error:
        print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
"""
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", script, server.address()], capture_output=True, text=True, timeout=60)
    assert "forked" in told.stdout and not SECRET.search(told.stdout + told.stderr), told


def test_ray_shows_the_files_of_tasks_without_secrets(server: Server) -> None:
    ray = pytest.importorskip("meshmap.ray")
    (task,) = ray.MeshDatasource([server.address()]).get_read_tasks(1)
    assert task.metadata.input_files and not SECRET.search(repr(task.metadata))


def test_what_is_written_has_the_name_in_the_path_of_an_address(server: Server, tmp_path: Path) -> None:
    for name in ("a.glb", "a.gltf", "a.obj", "a.ply", "a.usdc", "a.usdz", "a.stl"):
        meshmap.convert(server.address("mesh-a.tmf"), tmp_path / name)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert not [name for name, data in written.items() if re.search(b"[A-Z]+SECRET", data)]
    assert b'"mesh-a"' in written["a.glb"]


def test_one_hostile_key_does_not_end_a_list(server: Server, tmp_path: Path) -> None:
    server.keys = ["../b.iqm", "/abs.iqm", "a/../../c.iqm", "b.iqm", "c/./d.iqm", "e//f.iqm", "g/%2e%2e/h.iqm", "i.iqm", "new\nline.iqm"]
    usable = ["s3://bucket/b.iqm", "s3://bucket/g/%252e%252e/h.iqm", "s3://bucket/i.iqm"]
    for pattern in ("s3://bucket/", "s3://bucket/**.iqm"):
        found = meshmap.find(pattern)
        assert len(found) == len(server.keys) and [path for path in found if path in usable] == usable
        (task,) = jobs.tasks(pattern)
        assert task.paths() == found
        for table in (pa.table(meshmap.catalog(found)), jobs.catalog(task), jobs.verify(task), jobs.convert(task, tmp_path, base="s3://bucket")):
            errors = {row["path"]: row["error"] for row in table.to_pylist()}
            assert sorted(errors) == [str(path) for path in sorted(found)]
            assert [path for path in found if errors[str(path)] is None] == usable
        assert "cannot be requested" in errors["s3://bucket/a/../../c.iqm"]
        left = jobs.missing(pattern, jobs.verify(task))
        assert not set(left) & set(usable)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_body_of_an_error_takes_no_memory(tmp_path: Path) -> None:
    """In another process, whose memory is measured."""
    script = """
import socket, sys, threading, meshmap
listening = socket.create_server(("127.0.0.1", 0))
def serve():
    while True:
        stream, _ = listening.accept()
        try:
            stream.recv(65536)
            stream.sendall(b"HTTP/1.1 404 x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
            for _ in range(1 << 15):
                stream.sendall(b"10000\\r\\n" + b"x" * 0x10000 + b"\\r\\n")
        except OSError:
            pass
        stream.close()
threading.Thread(target=serve, daemon=True).start()
try:
    meshmap.open(f"http://127.0.0.1:{listening.getsockname()[1]}/a.iqm", max_total_bytes=1 << 20)
except FileNotFoundError as error:
    print(error)
# Not of getrusage, which counts the process that started this one.
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env={**os.environ, "MESHMAP_RETRIES": "0"})
    message, peak = told.stdout.splitlines()
    assert "404 Not Found" in message
    assert int(peak) < 200_000
