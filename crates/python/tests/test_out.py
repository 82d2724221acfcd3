"""`out=`: arrays of exactly one type and shape are filled, and everything else is refused and left as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from conftest import DATA

import meshmap

Fill = Callable[..., Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]


def calls() -> list[tuple[str, Fill, Floats]]:
    """Every call that has `out`, with the array that it gives without."""
    found: list[tuple[str, Fill, Floats]] = []
    for name in ("anim_a", "uncompressed_a", "topology_a"):
        file = meshmap.CGeoFile.open(DATA / "cgeo" / "valid" / f"{name}.cgeo")
        cache = meshmap.SnapshotCache(1 << 24)
        for index in (0, len(file.snapshots) - 1):
            snapshot = file.snapshots[index]
            found += [
                (f"{name}[{index}].positions", snapshot.positions, snapshot.positions()),
                (f"{name}[{index}].normals", snapshot.normals, snapshot.normals()),
            ]
            for texcoords in range(snapshot.counts["texcoord_sets"]):
                fill = partial(snapshot.texcoords, texcoords)
                found.append((f"{name}[{index}].texcoords({texcoords})", fill, fill()))
        if name != "anim_a":
            continue
        assert file.timing is not None
        times = [file.timing.time_of(1) * 0.5, 0.0]
        for where in (None, cache):
            at = partial(file.positions_at, times, cache=where)
            velocities = partial(file.velocities, 1, cache=where)
            found += [("positions_at", at, at()), ("velocities", velocities, velocities())]
    return found


CALLS = calls()
ids = [name for name, _, _ in CALLS]
every_call = pytest.mark.parametrize(("fill", "expected"), [case[1:] for case in CALLS], ids=ids)


def same(found: Any, expected: Floats) -> bool:
    return found.dtype == np.float32 and np.array_equal(found.view(), expected, equal_nan=True)


@every_call
def test_arrays_of_the_right_shape_are_filled_and_returned(fill: Fill, expected: Floats) -> None:
    double = tuple(2 * count for count in expected.shape)
    steps = tuple(slice(None, None, 2) for _ in expected.shape)
    arrays = {
        "contiguous": np.empty(expected.shape, np.float32),
        "Fortran order": np.empty(expected.shape, np.float32, order="F"),
        "strided": np.empty(double, np.float32)[steps],
        "reversed": np.empty(expected.shape, np.float32)[::-1],
        "columns of a wider array": np.empty((*expected.shape[:-1], 5), np.float32)[..., 1:4],
        "bytearray": np.frombuffer(bytearray(expected.nbytes), np.float32).reshape(expected.shape),
        "native by name": np.empty(expected.shape, "=f4"),
    }
    for what, array in arrays.items():
        array[...] = 7
        assert fill(out=array) is array, what
        assert same(array, expected), what
    wide = np.full((*expected.shape[:-1], 5), 7, np.float32)
    fill(out=wide[..., 1:4])
    assert (wide[..., 0] == 7).all() and (wide[..., 4] == 7).all()
    view = memoryview(bytearray(expected.nbytes)).cast("f", list(expected.shape))
    assert fill(out=view) is view and same(np.asarray(view), expected)


@every_call
def test_everything_else_is_refused_and_left_as_it_is(fill: Fill, expected: Floats) -> None:
    shape = expected.shape
    swapped = "<f4" if np.dtype("f4").newbyteorder(">").isnative else ">f4"
    shifted = np.zeros(expected.nbytes + 4, np.uint8)[1:][: expected.nbytes]
    read_only = np.full(shape, 7, np.float32)
    read_only.setflags(write=False)
    last = (*shape[:-1], 4)
    wrong: dict[str, tuple[Any, type[Exception], str]] = {
        "another byte order": (np.full(shape, 7, swapped), ValueError, "dtype"),
        "int32": (np.full(shape, 7, np.int32), ValueError, "dtype int32"),
        "float64": (np.full(shape, 7, np.float64), ValueError, "dtype float64"),
        "float16": (np.full(shape, 7, np.float16), ValueError, "dtype float16"),
        "object": (np.full(shape, 7, object), ValueError, "dtype object"),
        "a list": ([7.0] * 3, TypeError, "out has type list"),
        "a number": (5, TypeError, "out has type int"),
        "bytes": (b"\7" * expected.nbytes, ValueError, "dtype B"),
        "read-only": (read_only, ValueError, "out is read-only"),
        "unaligned": (shifted.view(np.float32).reshape(shape), ValueError, "out is not aligned"),
        "transposed": (np.full(shape[::-1], 7, np.float32), ValueError, "out has shape"),
        "flat": (np.full(expected.size, 7, np.float32), ValueError, "out has shape"),
        "one more dimension": (np.full((1, *shape), 7, np.float32), ValueError, "out has shape"),
        "four components": (np.full(last, 7, np.float32), ValueError, "out has shape"),
        "too long": (np.full((shape[0] + 1, *shape[1:]), 7, np.float32), ValueError, "out has shape"),
        "too short": (np.full((shape[0] - 1, *shape[1:]), 7, np.float32), ValueError, "out has shape"),
        "too long and strided": (np.full((2 * shape[0] + 2, *shape[1:]), 7, np.float32)[::2], ValueError, "out has shape"),
        "one row many times": (
            np.lib.stride_tricks.as_strided(np.full(shape[1:], 7, np.float32), shape, (0, *expected.strides[1:])),
            ValueError,
            "share memory",
        ),
    }
    for what, (array, error, text) in wrong.items():
        before = array.copy() if isinstance(array, np.ndarray) else array
        with pytest.raises(error) as caught:
            fill(out=array)
        assert text in str(caught.value), (what, str(caught.value))
        assert not isinstance(caught.value, meshmap.Error), what
        assert np.array_equal(before, array), what


def test_messages_name_what_is_expected_and_what_was_found() -> None:
    snapshot = meshmap.CGeoFile.open(DATA / "cgeo" / "valid" / "anim_a.cgeo").snapshots[1]
    count = len(snapshot.positions())
    for wrong, text in (
        (np.zeros((count, 3), ">f4"), "out has dtype >f4: expected an array of float32 in native byte order"),
        (np.zeros((3, count), "f4"), f"out has shape (3, {count}): expected (n, 3)"),
        (np.zeros((count + 1, 3), "f4"), f"out has shape ({count + 1}, 3): expected ({count}, 3)"),
        (np.zeros((count + 1, 6), "f4")[:, ::2], f"out has shape ({count + 1}, 3): expected ({count}, 3)"),
    ):
        with pytest.raises(ValueError) as caught:
            snapshot.positions(out=wrong)
        assert str(caught.value) == text


def test_errors_of_a_file_are_not_errors_of_the_array() -> None:
    file = meshmap.CGeoFile.open(DATA / "cgeo" / "valid" / "anim_a.cgeo")
    with pytest.raises(meshmap.Error) as caught:
        file.snapshots[0].texcoords(99, out=np.zeros((1, 3), np.float32))
    assert caught.value.kind == "out_of_range"


def test_frames_are_read_in_any_type_of_numbers(iqm: Any) -> None:
    file = meshmap.IqmFile.open(iqm)
    skeleton, frame = file.skeleton, file.frames()[0]
    assert skeleton is not None
    expected = skeleton.skinning_matrices(frame)
    np.testing.assert_array_equal(skeleton.skinning_matrices(np.asfortranarray(frame)), expected)
    for same in (frame.astype(frame.dtype.newbyteorder()), frame.astype(np.float64), frame.tolist()):
        np.testing.assert_array_equal(skeleton.skinning_matrices(same), expected)
    for wrong in (frame.T, frame.ravel()):
        with pytest.raises(ValueError, match="frame has"):
            skeleton.skinning_matrices(wrong)


def test_memory_that_another_call_fills_is_refused() -> None:
    file = meshmap.CGeoFile.open(DATA / "cgeo" / "valid" / "anim_a.cgeo")
    snapshot = file.snapshots[0]
    expected = snapshot.positions()
    times = [0.0] * 5000
    memory = np.empty((len(times) + 1, *expected.shape), np.float32)
    out, apart = memory[:-1], memory[-1]
    overlapping = {"itself": out[7], "reversed": out[7][::-1], "its end": out[-1], "bytes": np.asarray(memoryview(out[0]))}
    refused: set[str] = set()

    def fill_again_and_again() -> None:
        while len(refused) < len(overlapping):
            try:
                file.positions_at(times, out=out)
            except ValueError as error:
                assert str(error) == "out is being filled by another call"

    thread = threading.Thread(target=fill_again_and_again)
    thread.start()
    while len(refused) < len(overlapping):
        for name, array in overlapping.items():
            try:
                snapshot.positions(out=array)
            except ValueError as error:
                assert str(error) == "out is being filled by another call"
                refused.add(name)
        assert same(snapshot.positions(out=apart), expected)
    thread.join()
    # All of it is free again, also after errors.
    with pytest.raises(ValueError, match="shape"):
        snapshot.positions(out=out[0, 1:])
    assert file.positions_at(times, out=out) is out and same(out[-1], file.positions_at([0.0])[0])
