"""Tasks: files that are worked on together, by any process.

A task of a large prefix holds a range of keys, and lists its files itself; a task of a table has the rows of its files. So who plans holds
ranges and rows, not paths.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _meshmap, _sources
from ._error import Error
from ._meshmap import RemoteUrl
from ._sources import File, Page, Range, Sources, Stream

if TYPE_CHECKING:
    from ._inventory import Rows

Piece: TypeAlias = "File | Range | Rows"
#: For each file of a page, true if something is left to do.
Left: TypeAlias = Callable[[Page], list[bool]]

#: The files from which on tasks are made while others are still listed. So many files of a list are held by their names, and later ones by
#: ranges of keys.
_HELD = 10_000

#: Fewer files than this are held by their names, if the file after them has no work left.
_FEW = 100

#: The most files of a task, because small files also take time.
_MOST_FILES = 1000

#: The parts of a long list that are listed side by side.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Task:
    """Files that are worked on together. A task can be pickled, for workers with the same version of this package."""

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
        return [file for piece in self.pieces for file in ([piece] if isinstance(piece, File) else piece.listed())]

    def paths(self) -> list[_sources.Named]:
        """The paths and URLs of the files."""
        return [file.path for file in self.listed()]

    def __reduce__(self) -> tuple[Any, ...]:
        # Another version has other fields, so that its pieces are not read before the versions are compared.
        return _task, (_meshmap.__version__, pickle.dumps(_merged(self.pieces)))


def _merged(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces; parts of a table that follow each other become one."""
    made: list[Piece] = []
    for is_named, group in groupby(pieces, lambda piece: isinstance(piece, (File, Range))):
        if is_named:
            made.extend(group)
        else:
            rows = list(group)
            made.append(rows[0].joined(rows))  # type: ignore[union-attr,arg-type]
    return tuple(made)


def _task(version: str, pieces: bytes) -> Task:
    if version != _meshmap.__version__:
        raise Error(
            f"the task was made by meshmap {version}, and this worker has meshmap {_meshmap.__version__}: install the same version on all machines",
            kind="mismatch",
        )
    return Task(pickle.loads(pieces))


def listed(files: Task | Iterable[_sources.Path]) -> list[File]:
    """The files of a task, or of paths and URLs."""
    return files.listed() if isinstance(files, Task) else [File(_meshmap.named(path)) for path in files]


def tasks(sources: Sources, most_bytes: int, least_tasks: int = 1, left: Left | None = None) -> Iterator[Task]:
    """See ``meshmap.jobs.each_task``."""
    return grouped(pieces(sources, most_bytes, left), most_bytes, least_tasks)


def pieces(sources: Sources, most_bytes: int, left: Left | None = None) -> Iterator[Piece]:
    """The files that sources name, and of which ``left`` is true, as they are listed. A range, or a part of a table, is at most a hundredth of
    what comes before it, so that all of them can be divided evenly, and not more than a task."""
    cut = _Cut(most_bytes)
    runs: dict[Stream, _Run] = {}
    for stream, page in _sources.pages(sources, _AT_ONCE):
        chosen = left(page) if left is not None else None
        if not isinstance(page, list):
            yield from cut.rows(page if chosen is None else page.chosen(chosen))
            continue
        run = runs.setdefault(stream, _Run(stream.source, stream.start))
        for number, (key, file) in enumerate(page):
            if chosen is not None and not chosen[number]:
                if key:
                    yield from run.flush(False)
                    run.start = key
            elif not key:
                cut.count(file)
                yield file
            elif cut.files < _HELD:
                cut.count(file)
                yield file
                run.start = key
            else:
                if run.files and cut.is_full(run, file):
                    yield from run.flush(True)
                cut.count(file)
                run.add(key, file)
    for run in runs.values():
        yield from run.flush(False)


@dataclass
class _Run:
    """Files of a list that follow each other, of which the first one comes after the key ``start``."""

    source: _sources.Named | None
    start: str
    end: str = ""
    size: int = 0
    files: list[File] = field(default_factory=list)

    def add(self, key: str, file: File) -> None:
        self.files.append(file)
        self.end, self.size = key, self.size + file.size

    def flush(self, is_full: bool) -> Iterator[Piece]:
        """The files as a range, or by their names if there are few of them."""
        if not self.files:
            return
        if is_full or len(self.files) >= _FEW:
            assert isinstance(self.source, RemoteUrl), "only URLs are listed by keys"
            yield Range(self.source, self.start, self.end, len(self.files), self.size)
        else:
            yield from self.files
        self.start, self.size = self.end, 0
        self.files.clear()


@dataclass
class _Cut:
    """Decides about the size of pieces, by what came before them."""

    most_bytes: int
    files: int = 0
    size: int = 0

    def count(self, piece: Piece) -> None:
        self.files += piece.files
        self.size += piece.size

    def is_full(self, run: _Run, file: File) -> bool:
        """True if the file is one more than the run may have."""
        return len(run.files) >= min(self.files // 100, _MOST_FILES) or run.size + file.size > min(self.size // 100, self.most_bytes)

    def rows(self, rows: Rows) -> Iterator[Rows]:
        """The files of a table in pieces."""
        import numpy as np

        sizes = np.cumsum(rows.sizes())
        ends = []
        start = before = 0
        while start < rows.files:
            most_files = max(min(self.files // 100, _MOST_FILES), 1)
            fitting = int(np.searchsorted(sizes, before + min(self.size // 100, self.most_bytes), "right"))
            end = min(max(fitting, start + 1), start + most_files, rows.files)
            ends.append(end)
            self.files += end - start
            self.size += int(sizes[end - 1]) - before
            start, before = end, int(sizes[end - 1])
        return rows.divided(ends)


def grouped(pieces: Iterable[Piece], most_bytes: int, least_tasks: int = 1) -> Iterator[Task]:
    """Tasks of at most ``most_bytes``, or of one piece. A task has at most 1,000 files, because small files also take time. The first one
    comes when 10,000 files are known, or all."""
    pieces = iter(pieces)
    known: list[Piece] = []
    files = size = 0
    for piece in pieces:
        known.append(piece)
        files, size = files + piece.files, size + piece.size
        if files >= _HELD:
            break
    task: list[Piece] = []
    bytes_left = files_left = 0
    for number, piece in enumerate(chain(known, pieces)):
        if number >= len(known):
            files, size = files + piece.files, size + piece.size
        if piece.size > bytes_left or piece.files > files_left:
            if task:
                yield Task(tuple(task))
            task = []
            # So that there are as many tasks as wanted, whatever follows.
            bytes_left = max(min(most_bytes, size // max(least_tasks, 1)), 1)
            files_left = max(min(_MOST_FILES, files // max(least_tasks, 1)), 1)
        bytes_left -= piece.size
        files_left -= piece.files
        last = task[-1] if task else None
        if isinstance(piece, Range) and isinstance(last, Range) and (last.source, last.end) == (piece.source, piece.start):
            task[-1] = replace(last, end=piece.end, files=last.files + piece.files, size=last.size + piece.size)
        else:
            task.append(piece)
    if task:
        yield Task(tuple(task))
