#!/usr/bin/env python3
"""Headers of 1,000 objects of a local server that keeps connections alive, by the client of this package and by obstore: time, requests and
connections. For a build with the feature `stores`.

    crates/python/benches/stores.py
"""

import multiprocessing
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import obstore
import pyarrow as pa

import meshmap

FILES = 1000
DATA = (Path(__file__).resolve().parents[3] / "tests/data/iqm/valid/skin_multi_anim.iqm").read_bytes()


def serve(port, counts):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self):
            super().setup()
            with counts.get_lock():
                counts[0] += 1

        def do_GET(self):
            with counts.get_lock():
                counts[1] += 1
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            start, end = (int(found[1]), min(int(found[2]) + 1, len(DATA))) if found else (0, len(DATA))
            self.send_response(206 if found else 200)
            for name, value in {
                "Content-Length": end - start,
                "Content-Range": f"bytes {start}-{end - 1}/{len(DATA)}",
                "ETag": '"one"',
                "Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT",
            }.items():
                self.send_header(name, str(value))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(DATA[start:end])

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.value = server.server_port
    server.serve_forever()


def measure(what, counts, run):
    counts[0] = counts[1] = 0
    wall, cpu = time.perf_counter(), time.process_time()
    rows = pa.table(run())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert rows.num_rows >= FILES and not any(rows["error"].to_pylist()), rows["error"].to_pylist()[:3]
    threads = os.cpu_count() or 1
    print(f"{what}: {wall:.2f} s, {cpu:.2f} s of CPU, {counts[1]} requests, {counts[0]} connections of {threads} threads")


def main():
    port, counts = multiprocessing.Value("i", 0), multiprocessing.Array("i", 2)
    server = multiprocessing.Process(target=serve, args=(port, counts), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    base = f"http://127.0.0.1:{port.value}"
    names = [f"{number:04}.iqm" for number in range(FILES)]
    store = obstore.store.HTTPStore.from_url(base, client_options={"allow_http": True})

    def source(name):
        def read(start, stop):
            return obstore.get_range(store, name, start=start, end=stop)

        return f"{base}/{name}", read, None

    def sized(name):
        head = obstore.head(store, name)
        return f"{base}/{name}", source(name)[1], head["size"], head["e_tag"]

    for _ in range(2):
        measure("own client", counts, lambda: meshmap.catalog([f"{base}/{name}" for name in names]))
        with ThreadPoolExecutor() as pool:
            measure("obstore", counts, lambda: meshmap.catalog(list(pool.map(sized, names))))
    for name in ("obstore", "meshmap"):
        files = [path for path in Path(sys.modules[name].__file__).parent.rglob("*.so")]
        print(f"{name}: {sum(path.stat().st_size for path in files) / 1e6:.1f} MB of code on the disk")
    server.kill()


main()
