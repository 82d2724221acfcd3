"""Files, folders, globs, lists, tables and URLs of stores, as files."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from queue import Empty, Full, Queue
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from . import _meshmap
from ._drawn import EXTENSIONS
from ._error import Error
from ._meshmap import RemoteUrl, without_secrets

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

    from ._inventory import Rows

    TableOfFiles: TypeAlias = pa.Table | pa.RecordBatchReader | pyarrow.dataset.Dataset

Path: TypeAlias = str | os.PathLike[str] | RemoteUrl
Source: TypeAlias = "Path | TableOfFiles"
Sources: TypeAlias = "Source | Iterable[Source]"
#: A path, or the URL of a file in a store.
Named: TypeAlias = str | RemoteUrl


@dataclass(frozen=True, slots=True, repr=False)
class File:
    """A file, and its size, 0 if it is not known."""

    path: Named
    size: int = 0
    #: The version of a file in a store, if it was listed.
    version: str | None = None

    @property
    def files(self) -> int:
        """The number of files."""
        return 1

    def __repr__(self) -> str:
        return f"File({without_secrets(self.path)!r}, size={self.size})"


@dataclass(frozen=True, slots=True, repr=False)
class Range:
    """The files of a prefix or a pattern whose keys are greater than ``start``, and not greater than ``end``."""

    source: RemoteUrl
    start: str
    end: str
    #: The number of files and their size when they were listed.
    files: int
    size: int

    def __repr__(self) -> str:
        return f"Range({str(self.source)!r}, {self.start!r}, {self.end!r}, files={self.files}, size={self.size})"

    def listed(self) -> Iterator[File]:
        """The files, listed again. One that is repeated or not sorted is held by its name elsewhere."""
        for page in _part(self.source, self.start, self.end):
            yield from (file for key, file in page if key)


#: Files with their keys. A file has no key if it is not listed, or if a range of keys would miss it: the store repeats it or does not sort it.
Page: TypeAlias = "list[tuple[str, File]] | Rows"


@dataclass(frozen=True, slots=True)
class Stream:
    """Files that are listed one after the other: a source, or a part of a long list."""

    #: The number of the source, and of its part.
    number: tuple[int, int]
    source: Named | None
    #: The files of a list have keys greater than this.
    start: str = ""


def find(sources: Sources, max_total_bytes: int = 1 << 30) -> list[Named]:
    """See ``meshmap.find``."""
    found: list[Named] = []
    held = 0
    for page in each_page(sources):
        for file in page:
            held += _size_of(file.path)
            if held > max_total_bytes:
                message = f"the names of files need more than the limit of {max_total_bytes:,} bytes; raise it with find(.., max_total_bytes=)"
                raise Error(f"{message}, or use jobs.tasks, which holds ranges of keys", kind="limit_exceeded")
            found.append(file.path)
    return found


def _size_of(path: Named) -> int:
    """The bytes of an entry of a list, with its text. A URL with secrets has two texts."""
    of_entry, of_url = 8, 64
    if isinstance(path, RemoteUrl):
        return of_entry + of_url + sys.getsizeof(path) + 2 * len(path.with_secrets())
    return of_entry + sys.getsizeof(path)


#: The least files of a page, except for the last one.
_PAGE = 1000

#: For each text of the column ``path``, true if the file is wanted.
Wanted: TypeAlias = Callable[[list[str]], list[bool]]


def each_page(sources: Sources, wanted: Wanted | None = None) -> Iterator[list[File]]:
    """The mesh files that sources name, some at a time. Files that are not wanted are not opened."""
    several: list[File] = []
    for _, page in pages(sources, wanted=wanted):
        several.extend(files_of(page))
        # A list of paths has a page for each.
        if len(several) >= _PAGE:
            yield _wanted_of(several, wanted)
            several = []
    yield _wanted_of(several, wanted)


def _wanted_of(files: list[File], wanted: Wanted | None) -> list[File]:
    if wanted is None:
        return files
    chosen = wanted([shown(file.path) for file in files])
    return [file for file, is_wanted in zip(files, chosen, strict=True) if is_wanted]


def files_of(page: Page) -> list[File]:
    """The files of a page."""
    return [file for _, file in page] if isinstance(page, list) else list(page.listed())


def pages(sources: Sources, at_once: int = 1, wanted: Wanted | None = None) -> Iterator[tuple[Stream, Page]]:
    """The mesh files that sources name, some at a time, with the stream that they belong to. Up to ``at_once`` parts of a long list are
    listed side by side, and the pages of their streams come in any order. Files in folders are opened only if they are wanted.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
    """
    is_one = is_single(sources)
    several = named(sources)
    is_empty = True
    for number, source in enumerate(several):
        for stream, page in _pages_of(source, number, is_one, at_once, wanted):
            is_empty = is_empty and not (len(page) if isinstance(page, list) else page.files)
            yield stream, page
    if is_empty and wanted is None:
        names = ", ".join(_shown_source(source) for source in several)
        raise FileNotFoundError(f"no mesh files in {names or 'an empty list'}")


def _pages_of(
    source: Any, number: int, is_one: bool, at_once: int, wanted: Wanted | None
) -> Iterator[tuple[Stream, Page]]:
    if _is_table(source):
        from . import _inventory

        for rows in _inventory.batches(source):
            yield Stream((number, 0), None), rows
    elif isinstance(source, RemoteUrl) and _is_prefix(source):
        yield from _below(source, number, at_once)
    else:
        yield Stream((number, 0), source), [("", file) for file in _files(source, is_one, wanted)]


def _shown_source(source: Any) -> str:
    return without_secrets(source) if isinstance(source, (str, RemoteUrl)) else f"a {type(source).__name__}"


def is_single(sources: Sources) -> TypeGuard[Source]:
    """True for one source, and not several."""
    return isinstance(sources, (str, os.PathLike, RemoteUrl)) or _is_table(sources)


def _is_table(source: Any) -> bool:
    """True for a table, a stream or a data set of Arrow, and for the path or the URL of a Parquet file, a folder of these, or the manifest of an
    inventory of S3."""
    if not isinstance(source, (str, os.PathLike, RemoteUrl)):
        return _is_arrow(source)
    path = str(source) if isinstance(source, RemoteUrl) else os.fsdecode(source)
    name = path.rstrip("/").rpartition("/")[2]
    return name.endswith(".parquet") or name == "manifest.json"


def _is_arrow(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "get_fragments")


def named(sources: Sources) -> list[Any]:
    """The sources, with paths as texts and URLs."""
    several: Iterable[Any] = [sources] if is_single(sources) else sources  # type: ignore[assignment]
    return [source if _is_arrow(source) else _meshmap.named(source) for source in several]


def _files(source: Named, is_one: bool, wanted: Wanted | None) -> list[File]:
    """The files that a path, a glob or the URL of a file names. One of several that does not exist is an error when it is read; the only one
    raises now."""
    if isinstance(source, RemoteUrl):
        return [File(source, *(_meshmap.head_of_url(source) if is_one else ()))]
    if os.path.exists(source):
        found = _meshmap.find_files([source], wanted)
    elif glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise FileNotFoundError(f"nothing matches {without_secrets(source)}")
        # A pattern that ends with ** also matches folders, whose files it matches as well.
        found = _meshmap.find_files([match for match in matches if not os.path.isdir(match)] or matches, wanted)
    elif is_one:
        raise FileNotFoundError(f"no such file or folder: {without_secrets(source)}")
    else:
        return [File(source)]
    return [File(path, size) for path, size in found]


def _is_prefix(url: RemoteUrl) -> bool:
    """True for a URL whose path ends with a slash or has a star. A signature may have both."""
    path = without_query(url)
    return path.endswith("/") or "*" in path


def without_query(url: RemoteUrl) -> str:
    """A URL as it prints, without the mark for its query."""
    return str(url).partition("?")[0]


#: The pages of a list that are read before the rest of it is listed in parts.
_ALONE = 10


def _below(source: RemoteUrl, number: int, at_once: int) -> Iterator[tuple[Stream, Page]]:
    """The files of a prefix or a pattern, which must have some."""
    is_empty = is_sorted = True
    last = ""
    stream = Stream((number, 0), source)
    for count, page in enumerate(_part(source), 1):
        is_empty = is_empty and not page
        is_sorted = is_sorted and all(key for key, _ in page)
        last = next((key for key, _ in reversed(page) if key), last)
        yield stream, page
        if count == _ALONE and at_once > 1 and is_sorted:
            folder, _ = _pattern(source)
            starts = [last, *_meshmap.boundaries_of_url(folder, last)]
            if len(starts) > 1:
                parts = [Stream((number, place), source, start) for place, start in enumerate(starts, 1)]
                for part, more in _side_by_side(parts, [*starts[1:], None], at_once):
                    is_empty = is_empty and not more
                    yield part, more
                break
    if is_empty:
        raise FileNotFoundError(f"no mesh files in {source}")


def _side_by_side(parts: Sequence[Stream], ends: Sequence[str | None], at_once: int) -> Iterator[tuple[Stream, Page]]:
    """The pages of parts of a list, as they come."""
    waiting: Queue[tuple[Stream, Page] | BaseException | None] = Queue(2 * at_once)
    is_ended = Event()

    def put(item: tuple[Stream, Page] | BaseException | None) -> None:
        while not is_ended.is_set():
            try:
                return waiting.put(item, timeout=0.2)
            except Full:
                continue

    def work(part: Stream, end: str | None) -> None:
        assert isinstance(part.source, RemoteUrl), "only URLs are listed by keys"
        try:
            for page in _part(part.source, part.start, end):
                put((part, page))
                if is_ended.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    with ThreadPoolExecutor(at_once, "meshmap-list") as threads:
        try:
            for part, end in zip(parts, ends, strict=True):
                threads.submit(work, part, end)
            left = len(parts)
            while left:
                try:
                    # An interrupt is noticed meanwhile.
                    item = waiting.get(timeout=0.5)
                except Empty:
                    continue
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    left -= 1
                else:
                    yield item
        finally:
            is_ended.set()
            threads.shutdown(wait=False, cancel_futures=True)


#: The most files of a list that are held by their names because the store repeats them or does not sort them.
_MOST_UNSORTED = 10_000


def _part(source: RemoteUrl, start: str = "", end: str | None = None) -> Iterator[list[tuple[str, File]]]:
    """The files of a prefix or a pattern whose keys are greater than ``start`` and not greater than ``end``, by pages."""
    last, unsorted = start, 0
    for page in _listed(source, start):
        for number, (key, file) in enumerate(page):
            if key > last:
                if end is not None and key > end:
                    yield page[:number]
                    return
                last = key
                continue
            unsorted += 1
            if unsorted > _MOST_UNSORTED:
                raise ValueError(
                    f"{source}: the store lists {key} after {last}: name the files, or copy them to a store with sorted lists"
                )
            page[number] = ("", file)
        yield page


def _listed(source: RemoteUrl, after: str) -> Iterator[list[tuple[str, File]]]:
    """The objects with the endings of meshes that a URL begins, or that it matches, by their keys, from a key on."""
    folder, pattern = _pattern(source)
    for page in _meshmap.list_url(folder, after):
        yield [
            (key, File(url, size, version))
            for url, key, size, version in page
            if url.name.lower().endswith(_ENDINGS) and pattern.fullmatch(url.with_secrets())
        ]


_ENDINGS = tuple(f".{ending}" for ending in EXTENSIONS)


@cache
def _pattern(source: RemoteUrl) -> tuple[RemoteUrl, re.Pattern[str]]:
    """The folder of a prefix or a pattern, and the URLs that it matches."""
    text = source.with_secrets()
    if "*" not in text:
        return source, re.compile(re.escape(text) + ".*")
    folder = text[: text.index("*")].rpartition("/")[0] + "/"
    # A star stands for any part of a name, and two stars also for folders.
    parts = re.split(r"(\*\*/?|\*)", text)
    kinds = {"*": "[^/]*", "**": ".*", "**/": "(?:.*/)?"}
    return RemoteUrl(folder), re.compile("".join(kinds.get(part, re.escape(part)) for part in parts))


def shown(path: Named) -> str:
    """A path or a URL as the column ``path`` has it: what is not UTF-8 is U+FFFD."""
    if isinstance(path, RemoteUrl):
        return str(path)
    return os.fsencode(path).decode("utf-8", "replace")
