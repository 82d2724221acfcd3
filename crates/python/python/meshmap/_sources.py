"""Files, folders, globs, lists and URLs of stores, as files, and as tasks of several files.

A task of a large prefix holds a range of keys, and lists its files itself: who plans holds ranges, not keys.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias, TypeGuard

from . import _meshmap
from ._drawn import EXTENSIONS
from ._error import Error
from ._meshmap import RemoteUrl, without_secrets

Path: TypeAlias = str | os.PathLike[str] | RemoteUrl
Sources: TypeAlias = Path | Iterable[Path]
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
        """The files, listed again."""
        last = self.start
        for page in _pages(self.source, self.start):
            for key, file in page:
                # A file that is repeated or not sorted is held by its name.
                if key <= last:
                    continue
                last = key
                if key > self.end:
                    return
                yield file


Piece: TypeAlias = File | Range
#: Files with their keys, which are empty for files that are not listed.
_Page: TypeAlias = list[tuple[str, File]]


@dataclass(frozen=True, slots=True)
class Task:
    """Files that are worked on together. A task can be pickled."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """The bytes of the files, as far as they are known."""
        return sum(piece.size for piece in self.pieces)

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(piece.files for piece in self.pieces)

    def listed(self) -> list[File]:
        """The files. Ranges are listed."""
        return [file for piece in self.pieces for file in (piece.listed() if isinstance(piece, Range) else [piece])]

    def paths(self) -> list[Named]:
        """The paths and URLs of the files."""
        return [file.path for file in self.listed()]


def find(sources: Sources, max_total_bytes: int = 1 << 30) -> list[Named]:
    """See ``meshmap.find``."""
    found: list[Named] = []
    held = 0
    for _, page in _several(sources):
        for _, file in page:
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


def each_page(sources: Sources) -> Iterator[list[File]]:
    """The mesh files that sources name, some at a time."""
    return ([file for _, file in page] for _, page in _several(sources))


def _several(sources: Sources) -> Iterator[tuple[int, _Page]]:
    """The mesh files that sources name, some at a time, with the number of their source."""
    is_one = _is_one(sources)
    several = _named(sources)
    is_empty = True
    for number, source in enumerate(several):
        if isinstance(source, RemoteUrl) and _is_prefix(source):
            found: Iterable[_Page] = _below(source)
        else:
            found = [[("", file) for file in _files(source, is_one)]]
        for page in found:
            is_empty = is_empty and not page
            yield number, page
    if is_empty:
        names = ", ".join(without_secrets(source) for source in several)
        raise FileNotFoundError(f"no mesh files in {names or 'an empty list'}")


def _is_one(sources: Sources) -> TypeGuard[Path]:
    """True for one source, and not several."""
    return isinstance(sources, (str, os.PathLike, RemoteUrl))


def _named(sources: Sources) -> list[Named]:
    several = [sources] if _is_one(sources) else sources
    return [_meshmap.named(source) for source in several]


def _files(source: Named, is_one: bool) -> list[File]:
    """The files that a path, a glob or the URL of a file names. One of several that does not exist is an error when it is read; the only one
    raises now."""
    if isinstance(source, RemoteUrl):
        return [File(source, *(_meshmap.head_of_url(source) if is_one else ()))]
    if os.path.exists(source):
        found = _meshmap.find_files([source])
    elif glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise FileNotFoundError(f"nothing matches {without_secrets(source)}")
        # A pattern that ends with ** also matches folders, whose files it matches as well.
        found = _meshmap.find_files([match for match in matches if not os.path.isdir(match)] or matches)
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


def _below(source: RemoteUrl) -> Iterator[_Page]:
    """The files of a prefix or a pattern, which must have some. A file that the store repeats or does not sort has no key, because a range of
    keys would miss it: it is held by its name."""
    is_empty, last, unsorted = True, "", 0
    for page in _pages(source):
        for number, (key, file) in enumerate(page):
            if key > last:
                last = key
                continue
            unsorted += 1
            if unsorted > _MOST_UNSORTED:
                raise ValueError(
                    f"{source}: the store lists {key} after {last}: name the files, or copy them to a store with sorted lists"
                )
            page[number] = ("", file)
        is_empty = is_empty and not page
        yield page
    if is_empty:
        raise FileNotFoundError(f"no mesh files in {source}")


def _pages(source: RemoteUrl, after: str = "") -> Iterator[_Page]:
    """The objects with the endings of meshes that a URL begins, or that it matches, by their keys, from a key on."""
    folder, pattern = _pattern(source)
    for page in _meshmap.list_url(folder, after):
        yield [
            (key, File(url, size, version))
            for url, key, size, version in page
            if url.name.lower().endswith(_ENDINGS) and pattern.fullmatch(url.with_secrets())
        ]


#: The most files of a list that are held by their names because the store repeats them or does not sort them.
_MOST_UNSORTED = 10_000

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


#: The number of files that are held by their names; later files of a list are held by ranges of keys.
_HELD = 10_000

#: Fewer files than this are held by their names, if the file after them has no work left.
_FEW = 100

#: The most files of a task, because small files also take time.
_MOST_FILES = 1000

Left: TypeAlias = Callable[[list[File]], list[bool]]


def pieces(sources: Sources, most_bytes: int, left: Left | None = None) -> list[Piece]:
    """The files that sources name, and of which ``left`` is true, as files and ranges. A range is at most a hundredth of what comes before it,
    so that all of them can be divided evenly, and not more than a task."""
    names = sources if _is_one(sources) else _named(sources)
    several = _named(names)
    made: list[Piece] = []
    # Files that follow each other, of which the first comes after the key `start`.
    run: list[File] = []
    at, start, end, run_size = -1, "", "", 0

    def flush(is_full: bool) -> None:
        nonlocal start, run_size
        if is_full or len(run) >= _FEW:
            source = several[at]
            assert isinstance(source, RemoteUrl), "only URLs are listed by keys"
            made.append(Range(source, start, end, len(run), run_size))
        else:
            made.extend(run)
        if run:
            start = end
        run.clear()
        run_size = 0

    files = size = 0
    for number, page in _several(names):
        if number != at:
            flush(False)
            at, start = number, ""
        chosen = [True] * len(page) if left is None else left([file for _, file in page])
        for (key, file), is_left in zip(page, chosen, strict=True):
            if not is_left:
                if key:
                    flush(False)
                    start = key
                continue
            files += 1
            size += file.size
            if not key:
                made.append(file)
                continue
            if files <= _HELD:
                made.append(file)
                start = key
                continue
            if run and (len(run) >= min(files // 100, _MOST_FILES) or run_size + file.size > min(size // 100, most_bytes)):
                flush(True)
            run.append(file)
            end, run_size = key, run_size + file.size
    flush(False)
    return made


def grouped(pieces: Sequence[Piece], most_bytes: int, least_tasks: int = 1) -> list[Task]:
    """Tasks of at most ``most_bytes``, or of one piece. A task has at most 1,000 files, because small files also take time."""
    total, files = sum(piece.size for piece in pieces), sum(piece.files for piece in pieces)
    most_bytes = max(min(most_bytes, total // max(least_tasks, 1)), 1)
    most_files = max(min(_MOST_FILES, files // max(least_tasks, 1)), 1)
    made: list[list[Piece]] = []
    bytes_left = files_left = 0
    for piece in pieces:
        if not made or piece.size > bytes_left or piece.files > files_left:
            made.append([])
            bytes_left, files_left = most_bytes, most_files
        bytes_left -= piece.size
        files_left -= piece.files
        last = made[-1][-1] if made[-1] else None
        if isinstance(piece, Range) and isinstance(last, Range) and (last.source, last.end) == (piece.source, piece.start):
            made[-1][-1] = replace(last, end=piece.end, files=last.files + piece.files, size=last.size + piece.size)
        else:
            made[-1].append(piece)
    return [Task(tuple(pieces)) for pieces in made]


def shown(path: Named) -> str:
    """A path or a URL as the column ``path`` has it: what is not UTF-8 is U+FFFD."""
    if isinstance(path, RemoteUrl):
        return str(path)
    return os.fsencode(path).decode("utf-8", "replace")


def listed(files: Task | Iterable[Path]) -> list[File]:
    """The files of a task, or of paths and URLs."""
    return files.listed() if isinstance(files, Task) else [File(_meshmap.named(path)) for path in files]
