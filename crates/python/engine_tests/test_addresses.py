"""Addresses in place of paths: the values equal the files'. For a wheel with the feature `stores`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import pathname2url

import boto3
import numpy as np
import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer

import meshmap

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conftest import DATA, openctm_raw, valid_files  # noqa: E402
from digest import digest  # noqa: E402
from test_processes import wait_for  # noqa: E402

CGEO = DATA / "cgeo" / "valid" / "anim_a.cgeo"


@pytest.fixture(scope="module")
def bucket() -> Iterator[boto3.resources.base.ServiceResource]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**keys, "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
            patch.setenv(name, value)
        bucket = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1").Bucket("assets")
        bucket.create()
        yield bucket
    server.stop()


def test_objects_have_the_values_of_their_files(bucket) -> None:  # noqa: ANN001
    count = 0
    for path, _ in valid_files(large=False)[::7]:
        bucket.upload_file(str(path), path.name)
        try:
            expected = vars(digest(meshmap.open(path)))
        except meshmap.Error as error:
            with pytest.raises(meshmap.Error) as raised:
                digest(meshmap.open(f"s3://assets/{path.name}"))
            assert raised.value.kind == error.kind
        else:
            assert vars(digest(meshmap.open(f"s3://assets/{path.name}"))) == expected
        count += 1
    print(f"{count} objects have the values of their files")
    assert count


def test_local_files_have_addresses_too() -> None:
    address = "file://" + pathname2url(str(CGEO))
    found = meshmap.CGeoFile.open(address).snapshots[7].positions()
    np.testing.assert_array_equal(found, meshmap.CGeoFile.open(CGEO).snapshots[7].positions())


def test_what_is_not_there_is_an_exception_of_the_system(bucket) -> None:  # noqa: ANN001
    with pytest.raises(FileNotFoundError, match="nothing.cgeo"):
        meshmap.open("s3://assets/nothing.cgeo")
    with pytest.raises(OSError):
        meshmap.open("http://127.0.0.1:9/nothing.cgeo")
    with pytest.raises(FileNotFoundError, match="nothing.cgeo"):
        meshmap.find("s3://assets/nothing.cgeo")
    with pytest.raises(FileNotFoundError, match="no mesh files"):
        meshmap.find("s3://assets/no/such/folder/")
    bucket.upload_file(str(CGEO), "there.cgeo")
    names = ["s3://assets/there.cgeo", "s3://assets/nothing.cgeo", str(CGEO.with_name("nothing.cgeo"))]
    rows = pa.table(meshmap.catalog(names, columns=["path", "error_kind"])).to_pylist()
    kinds = {row["path"]: row["error_kind"] for row in rows}
    assert kinds == {names[0]: None, names[1]: "not_found", names[2]: "not_found"}
    with pytest.raises(ValueError, match="mmap"):
        meshmap.open("file:///nothing.cgeo", mmap=True)


def test_a_forked_child_is_told_to_open_the_address_again(tmp_path: Path) -> None:
    # After opening a short file, everything is there.
    path = tmp_path / "scan.ctm"
    path.write_bytes(openctm_raw(100_000))
    address = "file://" + pathname2url(str(path))
    file = meshmap.open(address)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            file.mesh(0)["position"]
        except meshmap.Error as error:
            again = meshmap.open(address).mesh(0)["position"]
            is_told = error.kind == "io" and "open it again" in str(error)
            status = 0 if is_told and again.shape == (100_000, 3) else 2
        finally:
            os._exit(status)
    assert wait_for(child) == 0
