"""Tasks over large prefixes: each key is in one task, and who plans holds ranges. A store that answers pages is simulated."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import meshmap
from meshmap import RemoteUrl, _meshmap, _plan, _sources, jobs

PREFIX = "s3://bucket/scans/"
KEYS = [f"scans/{number // 1000:03}/{number:05}.iqm" for number in range(25_000)]


class Store:
    """Keys of 10 bytes each, in pages of 1,000."""

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys
        self.pages = 0

    def list_url(self, url: RemoteUrl, after: str = "") -> Iterator[list[tuple[RemoteUrl, str, int, str | None]]]:
        assert url == RemoteUrl(PREFIX)
        first = bisect_right(self.keys, after)
        for start in range(first, len(self.keys), 1000):
            self.pages += 1
            yield [(RemoteUrl(f"s3://bucket/{key}"), key, 10, f"tag of {key}") for key in self.keys[start : start + 1000]]


    def boundaries_of_url(self, url: RemoteUrl, after: str) -> list[str]:
        """The folders of the store."""
        assert url == RemoteUrl(PREFIX)
        return sorted({key.rpartition("/")[0] + "/" for key in self.keys if key.rpartition("/")[0] + "/" > after})


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store(list(KEYS))
    monkeypatch.setattr(_meshmap, "list_url", store.list_url)
    monkeypatch.setattr(_meshmap, "boundaries_of_url", store.boundaries_of_url)
    return store


def paths(tasks: list[_plan.Task]) -> list[str]:
    return [str(path) for task in tasks for path in task.paths()]


@pytest.mark.parametrize(("task_bytes", "least"), [(64 << 20, 1), (64 << 20, 16), (1000, 1), (1, 1)])
def test_each_key_is_in_one_task(store: Store, task_bytes: int, least: int) -> None:
    tasks = jobs.tasks(PREFIX, task_bytes=task_bytes, least_tasks=least)
    # A part of the list ends in the page that has the first key of the next part.
    assert 25 <= store.pages <= 25 + 15
    assert len(tasks) >= least and all(1 <= task.files <= 1000 and task.size <= max(task_bytes, 10) for task in tasks)
    assert sum(task.files for task in tasks) == len(KEYS)
    if task_bytes == 1000:
        assert len(tasks) == 250
    tasks = [pickle.loads(pickle.dumps(task)) for task in tasks]
    held = [piece for task in tasks for piece in task.pieces if isinstance(piece, _sources.File)]
    # Few files at the end of a part are held by their names.
    assert len(held) <= 10_000 + 16 * 100
    if task_bytes > 1:
        assert sorted(paths(tasks)) == [f"s3://bucket/{key}" for key in KEYS]
        files = [file for task in tasks for file in task.listed()]
        assert all(file.version == f"tag of {str(file.path).removeprefix('s3://bucket/')}" for file in files)


def test_keys_that_come_or_go_after_the_plan_change_one_task(store: Store) -> None:
    tasks = jobs.tasks(PREFIX)
    store.keys.remove("scans/020/20500.iqm")
    store.keys.append("scans/020/20500b.iqm")
    store.keys.sort()
    assert sorted(paths(tasks)) == [f"s3://bucket/{key}" for key in store.keys]


@pytest.mark.parametrize("is_done", [lambda n: n < 12_000, lambda n: n % 3 == 0, lambda n: n > 20_000, lambda n: n % 5000 > 40])
def test_tasks_have_what_is_left(store: Store, is_done: Callable[[int], bool]) -> None:
    rows: list[tuple[str, str | None, str, str | None]]
    rows = [(f"s3://bucket/{key}", None, f"tag of {key}", None) for number, key in enumerate(KEYS) if is_done(number)]
    # Another version, and an error that the next run may not have.
    rows += [(f"s3://bucket/{KEYS[-1]}", None, "another", None), (f"s3://bucket/{KEYS[0]}", None, f"tag of {KEYS[0]}", "io")][is_done(0) :]
    names = ["path", "path_bytes", "identity", "error_kind"]
    done = pa.table([pa.array(column, pa.string()) for column in zip(*rows, strict=True)], names)
    expected = [f"s3://bucket/{key}" for number, key in enumerate(KEYS) if not is_done(number)]
    assert [str(path) for path in jobs.missing(PREFIX, done)] == expected
    tasks = jobs.tasks(PREFIX, done=done)
    assert sorted(paths(tasks)) == expected
    assert sum(task.files for task in tasks) == len(expected)


def test_several_sources_and_patterns_are_divided_as_one(store: Store, iqm: Path) -> None:
    sources = [str(iqm), PREFIX, PREFIX + "*/*7.iqm", PREFIX]
    tasks = jobs.tasks(sources, least_tasks=4)
    expected = [f"s3://bucket/{key}" for key in KEYS]
    assert [str(path) for path in meshmap.find(sources)] == [str(iqm), *expected, *expected[7::10], *expected]
    assert sorted(paths(tasks)) == sorted([str(iqm), *expected, *expected[7::10], *expected])


def test_a_store_without_order_is_refused(store: Store) -> None:
    store.keys.insert(500, "scans/999.iqm")
    with pytest.raises(ValueError, match="lists scans/010/10500.iqm after scans/999.iqm"):
        jobs.tasks(PREFIX)


def test_files_that_are_repeated_or_unsorted_are_held_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    # A list whose first pages are not sorted is not divided. Ranges of keys list all files once; files that the store does not sort are held by their names.
    keys = [*KEYS[:5000], KEYS[3], *KEYS[5000:20_000], KEYS[7], KEYS[19_999], "scans/000/new.iqm", *KEYS[20_000:]]

    def list_url(url: RemoteUrl, after: str = "") -> Iterator[list[tuple[RemoteUrl, str, int, str | None]]]:
        listed = [key for key in keys if key > after]
        for start in range(0, len(listed), 1000):
            yield [(RemoteUrl(f"s3://bucket/{key}"), key, 10, None) for key in listed[start : start + 1000]]

    monkeypatch.setattr(_meshmap, "list_url", list_url)
    monkeypatch.setattr(_meshmap, "boundaries_of_url", lambda _url, _after: ["scans/015/", "scans/022/"])
    expected = sorted(f"s3://bucket/{key}" for key in keys)
    assert sorted(str(path) for path in meshmap.find(PREFIX)) == expected
    assert sorted(paths(jobs.tasks(PREFIX))) == expected


def test_the_names_of_files_are_within_a_limit(store: Store) -> None:
    assert len(meshmap.find(PREFIX, max_total_bytes=10 << 20)) == len(KEYS)
    with pytest.raises(meshmap.Error, match="raise it with find") as caught:
        meshmap.find(PREFIX, max_total_bytes=1 << 20)
    assert caught.value.kind == "limit_exceeded"


def test_a_list_may_name_files_that_are_gone(tmp_path: Path, iqm: Path) -> None:
    gone = str(tmp_path / "gone.iqm")
    assert meshmap.find([str(iqm), gone]) == [str(iqm), gone]
    for table in (jobs.catalog([str(iqm), gone]), jobs.convert([str(iqm), gone], tmp_path / "out")):
        assert dict(zip(table["path"].to_pylist(), table["error_kind"].to_pylist(), strict=True)) == {str(iqm): None, gone: "not_found"}
    for source in (gone, tmp_path / "gone*.iqm"):
        with pytest.raises(FileNotFoundError):
            meshmap.find(source)


def test_the_first_task_comes_while_the_list_is_read(store: Store) -> None:
    tasks = jobs.each_task(PREFIX)
    first = next(tasks)
    assert store.pages == 10 and first.files <= 1000
    assert sorted(paths([first, *tasks])) == [f"s3://bucket/{key}" for key in KEYS]


def test_a_list_without_folders_is_read_in_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_meshmap, "boundaries_of_url", lambda _url, _after: [])
    tasks = jobs.tasks(PREFIX)
    assert store.pages == 25
    assert paths(tasks) == [f"s3://bucket/{key}" for key in KEYS]


def test_an_error_of_a_part_ends_the_plan(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def list_url(url: RemoteUrl, after: str = "") -> Iterator[list[tuple[RemoteUrl, str, int, str | None]]]:
        for page in store.list_url(url, after):
            if page[0][1] > "scans/020":
                raise OSError("the store does not answer")
            yield page

    monkeypatch.setattr(_meshmap, "list_url", list_url)
    with pytest.raises(OSError, match="does not answer"):
        jobs.tasks(PREFIX)


def test_a_task_of_another_version_is_one_error(iqm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = jobs.tasks(str(iqm))
    data = pickle.dumps(task)
    assert pickle.loads(data) == task
    monkeypatch.setattr(_meshmap, "__version__", "9.9.9")
    with pytest.raises(meshmap.Error, match=f"made by meshmap {meshmap.__version__}, and this worker has meshmap 9.9.9") as caught:
        pickle.loads(data)
    assert caught.value.kind == "mismatch"
