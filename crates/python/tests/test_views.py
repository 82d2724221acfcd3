"""Arrays are views of the file, read-only, and outlive it."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CORPUS, DATA, valid_files

import meshmap


def test_stored_arrays_are_the_pages_of_the_map() -> None:
    count = misaligned = 0
    for path, _ in valid_files():
        if path.parts[-3] not in ("iqm", "openctm"):
            continue
        with meshmap.open(path, mmap=True) as file:
            whole = file.read()
            arrays = []
            if isinstance(file, meshmap.IqmFile):
                arrays = [array.values for array in file.vertex_arrays] + [file.triangles]
                # Meshes that use vertices of other meshes have copies.
                if not any(finding.rule in ("shared_vertices", "index_outside_mesh") for finding in file.validate()):
                    arrays += [mesh.raw(name) for mesh in file.values() for name in mesh]
            elif isinstance(file, meshmap.OpenCtmFile) and file.bodies[0].method == "RAW":
                arrays = [file.bodies[0].triangles, file.bodies[0].positions]
        for array in arrays:
            assert not array.flags.writeable and not array.flags.owndata
            if array.size:
                assert np.shares_memory(whole, array), path
                misaligned += not array.flags.aligned
            count += 1
    assert count > 50
    print(f"{count} arrays in place, {misaligned} of them at odd addresses")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_the_address_of_a_view_lies_in_the_mapped_file(iqm: Path) -> None:
    array = meshmap.open(iqm, mmap=True).mesh(0).raw("position")
    address = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        parts = line.split(maxsplit=5)
        start, end = (int(number, 16) for number in parts[0].split("-"))
        if start <= address < end:
            assert parts[5] == str(iqm)
            return
    pytest.fail("the address is not mapped")


def test_influences_are_ready_for_drawing() -> None:
    count = 0
    for path, _ in valid_files():
        with meshmap.open(path) as file:
            for mesh in file.values():
                found = mesh.influences(3)
                assert (found is None) == ("joints" not in mesh or "weights" not in mesh)
                if found is None:
                    continue
                joints, weights = found["joints"], found["weights"]
                assert joints.shape == weights.shape == (mesh.vertex_count, 4) and joints.dtype == np.uint16
                assert (joints <= 3).all() and (np.abs(weights.sum(axis=1) - 1) < 1e-6).all()
                assert found["resting"] == ((joints == 3) & (weights > 0)).any(axis=1).sum()
                count += 1
    assert count > 10


def test_views_outlive_file_and_mesh(iqm: Path) -> None:
    file = meshmap.open(iqm, mmap=True)
    mesh = file.mesh(0)
    array = mesh["position"]
    sum_before = float(array.sum())
    file.close()
    del file, mesh
    gc.collect()
    assert float(array.sum()) == sum_before


def test_views_cannot_be_written(iqm: Path) -> None:
    array = meshmap.open(iqm).mesh(0)["position"]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        array.flags.writeable = True


def test_bytes_are_read_where_they_are(iqm: Path) -> None:
    data = iqm.read_bytes()
    array = meshmap.open(data).mesh(0).raw("position")
    assert np.shares_memory(np.frombuffer(data, dtype=np.uint8), array)


def test_empty_arrays_have_their_shape() -> None:
    mesh = meshmap.open(DATA / "cgeo" / "valid" / "empty_anim_a.cgeo").mesh(0)
    assert mesh["position"].shape == (0, 3)
    assert mesh.indices.shape == (0, 3)
    assert mesh.bounds is None


def test_dlpack_shares_too(iqm: Path) -> None:
    array = meshmap.open(iqm).mesh(0)["position"]
    if not array.flags.aligned:
        pytest.skip("DLPack needs aligned numbers")
    try:
        other = np.from_dlpack(array)
    except (BufferError, TypeError):
        pytest.skip("this NumPy does not export read-only arrays")
    assert np.shares_memory(array, other)


def test_the_buffer_has_the_buffer_protocol(iqm: Path) -> None:
    buffer: Any = meshmap.open(iqm).mesh(0).raw("position").base
    while not isinstance(buffer, meshmap.Buffer):
        buffer = buffer.obj if isinstance(buffer, memoryview) else buffer.base
    view = memoryview(buffer)
    assert view.readonly and view.nbytes == buffer.nbytes and view.ndim == 2
    assert bytes(view) == view.tobytes()


@pytest.mark.skipif(CORPUS is None, reason="needs the larger corpus")
def test_large_files_are_viewed_without_reading_them() -> None:
    assert CORPUS
    file = meshmap.open(CORPUS / "iqm" / "large" / "large_mesh.iqm")
    file.mesh(0)
    _, read = file.read_stats
    assert file.nbytes and read < file.nbytes // 10


def test_lists_are_those_of_tolist(iqm: Path) -> None:
    arrays = [mesh["position"] for mesh in meshmap.open(iqm).values()]
    assert meshmap.to_lists(arrays) == [array.tolist() for array in arrays]
    assert gc.isenabled()


def test_the_garbage_collector_is_left_as_it_was() -> None:
    nothing: Any = None
    with pytest.raises(AttributeError):
        meshmap.to_lists([nothing])
    assert gc.isenabled()
    gc.disable()
    try:
        meshmap.to_lists([np.zeros((2, 3))])
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_garbage_collector_waits_for_the_last_of_several_threads() -> None:
    first, last = threading.Event(), threading.Event()

    class Slow:
        def tolist(self) -> list[bool]:
            first.set()
            assert last.wait(60)
            return [gc.isenabled()]

    array: Any = Slow()
    found: list[Any] = []
    slow = threading.Thread(target=lambda: found.extend(meshmap.to_lists([array])))
    slow.start()
    assert first.wait(60)
    assert meshmap.to_lists([np.zeros(2)]) == [[0.0, 0.0]]
    assert not gc.isenabled()
    last.set()
    slow.join()
    assert found == [[False]] and gc.isenabled()
