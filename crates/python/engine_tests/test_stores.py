"""A catalogue of objects in a store reads their headers only: S3, as moto's server speaks it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

import meshmap

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conftest import openctm_raw  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
FILES = 100


@pytest.fixture(scope="module")
def store() -> Iterator[S3Store]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    import boto3

    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1", **keys)
    client.create_bucket(Bucket="assets")
    yield S3Store(
        "assets",
        endpoint=f"http://{host}:{port}",
        access_key_id="test",
        secret_access_key="test",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    server.stop()


def test_a_catalogue_of_a_hundred_objects_reads_under_a_twentieth(store: S3Store) -> None:
    corpus = os.environ.get("MESHMAP_CORPUS")
    large = sorted(Path(corpus).glob("*/large/*")) if corpus else []
    contents = [path.read_bytes() for path in large if path.suffix not in (".json", ".md")]
    for index in range(FILES):
        data = contents[index] if index < len(contents) else openctm_raw(100_000 + index)
        store.put(f"scans/{index:03}.mesh", data)
    listed = sorted((entry for page in store.list("scans/") for entry in page), key=lambda entry: entry["path"])
    assert len(listed) == FILES
    asked = {"requests": 0, "bytes": 0}

    def source(entry: dict) -> tuple:
        def read(start: int, stop: int):  # noqa: ANN202
            asked["requests"] += 1
            asked["bytes"] += stop - start
            return store.get_range(entry["path"], start=start, end=stop)

        return f"s3://assets/{entry['path']}", read, entry["size"], entry["e_tag"]

    table = pa.table(meshmap.catalog([source(entry) for entry in listed]))
    total = sum(entry["size"] for entry in listed)
    share = asked["bytes"] / total
    print(f"{table.num_rows} rows of {FILES} objects: {asked['requests']} requests, {share:.2%} of {total} bytes")
    assert table.num_rows >= FILES and not any(table["error_kind"].to_pylist())
    assert {row["identity"] for row in table.to_pylist()} == {entry["e_tag"] for entry in listed}
    counts = [row["vertices"] for row in table.to_pylist() if row["format"] == "openctm"]
    assert counts and all(counts)
    assert share < 0.05


def test_one_mesh_is_read_by_ranges(store: S3Store) -> None:
    data = (ROOT / "tests" / "data" / "cgeo" / "valid" / "anim_a.cgeo").read_bytes()
    store.put("wave.cgeo", data)
    size = store.head("wave.cgeo")["size"]
    read = lambda start, stop: store.get_range("wave.cgeo", start=start, end=stop)  # noqa: E731
    file = meshmap.CGeoFile.open(reader=read, size=size)
    np.testing.assert_array_equal(file.snapshots[7].positions(), meshmap.CGeoFile.open(data).snapshots[7].positions())


def test_an_object_that_is_gone_is_a_row_and_an_exception(store: S3Store) -> None:
    read = lambda start, stop: store.get_range("nothing", start=start, end=stop)  # noqa: E731
    with pytest.raises(FileNotFoundError):
        meshmap.open(reader=read, size=1000)
    row = pa.table(meshmap.catalog([("s3://assets/nothing", read, 1000)])).to_pylist()[0]
    assert row["error_kind"] == "not_found"


def test_fsspec_files_are_file_objects(store: S3Store) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    data = (ROOT / "tests" / "data" / "iqm" / "valid" / "skin_multi_anim.iqm").read_bytes()
    memory.pipe("/model.iqm", data)
    with memory.open("/model.iqm", "rb") as file:
        found = meshmap.open(file).mesh(0)["position"]
        np.testing.assert_array_equal(found, meshmap.open(data).mesh(0)["position"])
