#!/usr/bin/env python3
"""Servers that lie without an end, read by the command, the Python package and a program in Rust, in 1 GiB of address space.

    lying.py COMMAND EXAMPLE [PYTHON]

COMMAND is `meshmap`, EXAMPLE the example `within` of this crate, and PYTHON an interpreter that has the package, all with the features of all
stores. Without PYTHON its rows are left out.

Each row is a lie, a kind of store, a program, and what it asks for: an object or a list. The program must end with status 1 in time, with
less than 100 MB of memory and a sentence about the lie. Two lies are no lies: they must end with status 0, so that a check that fails for
another reason does not pass. The exit status is 1 if a row is wrong.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TIMEOUT, DEADLINE = 2, 5
#: The bytes that a program may hold of a file or of a list.
BYTES = 64 << 20
ADDRESS_SPACE = 1 << 30
MOST_MEMORY = 100 << 20
#: Several requests, the time until an interpreter has begun, and a busy machine.
MOST_SECONDS = 30
TIB = 1 << 40

#: A small file that is right.
RIGHT = (Path(__file__).parents[3] / "tests/data/iqm/valid/skin_multi_anim.iqm").read_bytes()


def huge() -> bytes:
    """An IQM file of 2^28 vertices, of which the positions have 3 GiB."""
    vertices, at = 1 << 28, 1024
    # Version, length, flags; numbers and offsets of the text, the meshes, and, with the number of vertices, the arrays.
    header = [2, 0xFFFF_FFFF, 0, 1, 150, 1, 200, 1, vertices, 160]
    head = b"INTERQUAKEMODEL\0" + struct.pack("<27I", *header, *[0] * 17)
    arrays = struct.pack("<5I", 0, 0, 7, 3, at)
    mesh = struct.pack("<6I", 0, 0, 0, vertices, 0, 0)
    return (head.ljust(160, b"\0") + arrays).ljust(200, b"\0") + mesh


HUGE = huge()


@dataclass
class Request:
    method: str
    target: str
    range: tuple[int, int] | None
    number: int

    @property
    def is_list(self) -> bool:
        return self.method == "PROPFIND" or "list-type=2" in self.target or "comp=list" in self.target


Connection = socket.socket
Answer = Callable[[Connection, Request], None]


def head(status: str, *lines: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode()


def whole(connection: Connection, status: str, body: bytes, *lines: str) -> None:
    connection.sendall(head(status, f"Content-Length: {len(body)}", *lines) + body)


def without_end(connection: Connection, piece: bytes) -> None:
    chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    while True:
        connection.sendall(chunk)


FILE = ('ETag: "one"', "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT")


def entry(key: str) -> str:
    """An object as S3, Google Cloud, Azure and WebDAV list it: each reads the elements that it knows."""
    return (
        f"<Contents><Key>{key}</Key><LastModified>2020-01-01T00:00:00Z</LastModified><ETag>x</ETag><Size>7</Size></Contents>"
        f"<Blobs><Blob><Name>{key}</Name><Properties><Last-Modified>Wed, 01 Jan 2020 00:00:00 GMT</Last-Modified><Etag>x</Etag>"
        "<Content-Length>7</Content-Length><Content-Type>x</Content-Type></Properties></Blob></Blobs>"
    )


def page(request: Request, keys: list[str], token: str) -> bytes:
    if request.method == "PROPFIND":
        entries = "".join(
            f"<D:response><D:href>/{key}</D:href><D:propstat><D:prop><D:resourcetype/><D:getcontentlength>7</D:getcontentlength>"
            "<D:getlastmodified>Wed, 01 Jan 2020 00:00:00 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status>"
            "</D:propstat></D:response>"
            for key in keys
        )
        return f'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">{entries}</D:multistatus>'.encode()
    if "comp=list" in request.target:
        blobs = "".join(entry(key).split("<Blobs>")[1].removesuffix("</Blobs>") for key in keys)
        return f'<?xml version="1.0"?><R><Blobs>{blobs}</Blobs><NextMarker>{token}</NextMarker></R>'.encode()
    entries = "".join(entry(key).split("<Blobs>")[0] for key in keys)
    next_token = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f'<?xml version="1.0"?><R>{entries}{next_token}</R>'.encode()


def part(connection: Connection, request: Request, body: bytes, total: int) -> None:
    """A range of a file that has zeros after these bytes."""
    start, end = request.range or (0, total)
    end = min(end, total)
    lines = (f"Content-Range: bytes {start}-{end - 1}/{total}", f"Content-Length: {end - start}", *FILE)
    connection.sendall(head("206 x", *lines))
    if request.method == "HEAD":
        return
    while start < end:
        piece = body[start : min(end, start + 65536)] or bytes(min(end - start, 65536))
        connection.sendall(piece)
        start += len(piece)


def right(connection: Connection, request: Request) -> None:
    if request.is_list:
        whole(connection, "200 x", page(request, ["b.iqm"], ""))
    else:
        part(connection, request, RIGHT, len(RIGHT))


def long_page(connection: Connection, request: Request) -> None:
    """A list of one long answer, and a file that is right."""
    if request.is_list:
        whole(connection, "200 x", page(request, [f"k{index:06}.iqm" for index in range(10_000)], ""))
    else:
        right(connection, request)


def error(connection: Connection, request: Request) -> None:
    connection.sendall(head("403 x", "Transfer-Encoding: chunked"))
    without_end(connection, b"\xff" * 65536)


def busy(connection: Connection, request: Request) -> None:
    connection.sendall(head("503 x", f"Content-Length: {TIB}") + b"slow down")
    time.sleep(60)


def pages(connection: Connection, request: Request) -> None:
    """A new page for each request. A list of one answer, and an object, have no end."""
    if request.is_list and request.method != "PROPFIND":
        keys = [f"k{request.number:09}_{index:04}.iqm" for index in range(1000)]
        whole(connection, "200 x", page(request, keys, f"token{request.number}"))
        return
    connection.sendall(head("207 x" if request.is_list else "200 x", "Transfer-Encoding: chunked", *FILE))
    without_end(connection, page(request, ["k.iqm"] * 500, "token").partition(b"?>")[2])


def empty_pages(connection: Connection, request: Request) -> None:
    if request.is_list and request.method != "PROPFIND":
        whole(connection, "200 x", page(request, [], f"token{request.number}"))
        return
    pages(connection, request)


def length(connection: Connection, request: Request) -> None:
    """A list of 1 TiB, and a file of 1 TiB whose header declares an array of 3 GiB, all bytes of which can be had."""
    if request.is_list:
        connection.sendall(head("200 x", f"Content-Length: {TIB}") + b'<?xml version="1.0"?><R>')
        time.sleep(60)
    part(connection, request, HUGE, TIB)


def no_ranges(connection: Connection, request: Request) -> None:
    """Without ranges, 1 TiB."""
    connection.sendall(head("200 x", f"Content-Length: {TIB}", *FILE))
    if request.method != "HEAD":
        while True:
            connection.sendall(bytes(65536))


def redirect(connection: Connection, request: Request) -> None:
    time.sleep(0.1)
    whole(connection, "307 x", b"", f"Location: /bucket/again{request.number}?list-type=2&comp=list")


def slow_head(connection: Connection, request: Request) -> None:
    connection.sendall(b"HTTP/1.1 200 x\r\n")
    while True:
        connection.sendall(b"X-Line: 7\r\n")
        time.sleep(0.2)


def slow_list(connection: Connection, request: Request) -> None:
    """A byte at a time, so that the server is never silent."""
    connection.sendall(head("200 x", f"Content-Length: {TIB}", *FILE))
    while True:
        connection.sendall(b" ")
        time.sleep(0.2)


#: No lies.
TRUTHS = (right, long_page)

#: Each lie, and the words of which an error about it has one.
LIES: dict[Answer, tuple[str, ...]] = {
    error: ("403",),
    busy: ("503",),
    pages: ("deadline", "limit", "16 MiB", "content-length", "Content-Length", "not support"),
    empty_pages: ("deadline", "limit", "16 MiB", "content-length", "Content-Length", "not support"),
    length: ("limit", "timeout"),
    no_ranges: ("limit", "16 MiB", "non-partial", "timeout"),
    # Requests for keys are not sent to another address.
    redirect: ("redirects more than", "307"),
    slow_head: ("timeout",),
    slow_list: ("deadline", "limit", "timed out", "timeout", "non-partial"),
}


def serve(answer: Answer) -> int:
    """The port of a server that gives this answer."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    numbers = iter(range(1 << 40))

    def connected(connection: Connection) -> None:
        received = b""
        try:
            with connection:
                while True:
                    while b"\r\n\r\n" not in received:
                        more = connection.recv(65536)
                        if not more:
                            return
                        received += more
                    text, _, received = received.partition(b"\r\n\r\n")
                    answer(connection, parsed(text.decode("latin-1"), next(numbers)))
        except OSError:
            pass

    def listen() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=connected, args=(connection,), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    return listener.getsockname()[1]


def parsed(text: str, number: int) -> Request:
    first, *lines = text.split("\r\n")
    method, target, _ = first.split(" ")
    requested = None
    for line in lines:
        name, _, value = line.partition(": ")
        if name.lower() == "range":
            start, _, last = value.removeprefix("bytes=").partition("-")
            requested = int(start), int(last) + 1
    return Request(method, target, requested, number)


def stores(port: int) -> dict[str, tuple[str, dict[str, str]]]:
    """The address of a folder in each kind of store, and its environment."""
    server = f"http://127.0.0.1:{port}"
    s3 = {"AWS_ENDPOINT": server, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    azure = {"AZURE_ENDPOINT": server, "AZURE_ALLOW_HTTP": "true", "AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_TOKEN": "b"}
    google = {"GOOGLE_BASE_URL": server, "GOOGLE_ALLOW_HTTP": "true", "GOOGLE_SKIP_SIGNATURE": "true"}
    return {
        "http": (f"{server}/bucket/", {}),
        "s3": ("s3://bucket/", s3 | keys),
        # The server of the keys lies.
        "s3 keys": ("s3://bucket/", s3 | {"AWS_METADATA_ENDPOINT": server}),
        "gs": ("gs://bucket/", google),
        "az": ("az://container/", azure),
    }


PYTHON = f"""
import sys
import meshmap
try:
    address = sys.argv[1]
    if address.endswith("/"):
        print(len(meshmap.find(address, max_total_bytes={BYTES // 4})), "files")
    else:
        file = meshmap.open(address, max_total_bytes={BYTES})
        print(len(file.validate()), "findings")
except Exception as error:
    sys.exit(f"{{type(error).__name__}}: {{error}}")
"""


def commands(command: str, example: str, python: str | None) -> dict[str, list[str]]:
    """The command line of each program, before the address."""
    limits = ["--timeout", str(TIMEOUT), "--deadline", str(DEADLINE), "--retries", "1", "--max-memory", str(BYTES)]
    made = {"command": [command, "verify", *limits], "rust": [example]}
    return made | ({"python": [python, "-c", PYTHON]} if python else {})


@dataclass
class Row:
    lie: str
    kind: str
    program: str
    asked: str
    status: int | None
    seconds: float
    memory: int
    text: str
    problem: str


#: Runs a program in little address space, and prints its exit status and the memory that it has used. The system counts the memory of the
#: process that starts it as well, so this one is small.
LAUNCHER = f"""
import os, resource, sys
child = os.fork()
if child == 0:
    resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print()
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10)
"""


def run(lie: Answer, kind: str, program: str, asked: str, base: list[str]) -> Row:
    address, environment = stores(serve(lie))[kind]
    address += "" if asked == "list" else "b.iqm"
    after = [str(TIMEOUT), str(DEADLINE), str(BYTES)] if program == "rust" else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_", "GOOGLE_"))} | environment
    environment |= {"MESHMAP_TIMEOUT": str(TIMEOUT), "MESHMAP_DEADLINE": str(DEADLINE), "MESHMAP_RETRIES": "1", "OPENBLAS_NUM_THREADS": "1"}
    begin = time.monotonic()
    launched = [sys.executable, "-S", "-c", LAUNCHER, *base, address, *after]
    try:
        ended = subprocess.run(launched, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MOST_SECONDS)
        output, _, last = ended.stdout.decode(errors="replace").rstrip().rpartition("\n")
        status, memory = map(int, last.split())
    except subprocess.TimeoutExpired:
        output, status, memory = "it did not end", None, 0
    seconds = time.monotonic() - begin
    text = " ".join(output.split())
    problems = []
    if status != (0 if lie in TRUTHS else 1):
        problems.append(f"status {status}")
    if memory >= MOST_MEMORY:
        problems.append("memory")
    if lie not in TRUTHS and not any(word in text for word in LIES[lie]):
        problems.append("words")
    return Row(lie.__name__, kind, program, asked, status, seconds, memory, text, ", ".join(problems))


def main() -> int:
    programs = commands(*(sys.argv[1:] + [None])[:3])
    todo = []
    for lie in [*TRUTHS, *LIES]:
        for kind in stores(0):
            if kind == "s3 keys" and lie in (*TRUTHS, pages, empty_pages, length):
                # The answers for keys are no lists and no objects.
                continue
            for program, base in programs.items():
                # The command reads files only: the address of a folder is a file for it.
                for asked in ("object",) if program == "command" else ("object", "list"):
                    todo.append((lie, kind, program, asked, base))
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda arguments: run(*arguments), todo))
    for row in rows:
        line = f"{row.lie:<11} {row.kind:<7} {row.program:<7} {row.asked:<6} status {row.status} {row.seconds:5.1f} s {row.memory >> 20:3} MB"
        print(f"{line}  {row.problem and f'WRONG ({row.problem}): '}{row.text[-150:]}")
    wrong = sum(bool(row.problem) for row in rows)
    print(f"{len(rows)} rows, {wrong} wrong; at most {max(row.memory for row in rows) >> 20} MB and {max(row.seconds for row in rows):.1f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
