"""Work on many files, for any engine: each job makes an Arrow table of a few files.

A file that cannot be read is a row with ``error_kind`` and ``error``: a job raises nothing that a file can cause. Each row names the
file (``path``) and the version of it (``identity``), so that rows of different runs can be joined: see ``missing``.

``tasks`` divides the files of sources. A task of a large prefix holds a range of its keys, so that planning takes little memory for any number
of files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from . import _meshmap, _sources
from ._error import Error
from ._meshmap import RemoteUrl, without_secrets
from ._sources import File, Named, Sources, Task
from ._tables import Table, table

#: The files of a job: a task, or their paths and URLs.
Files: TypeAlias = Task | Iterable[_sources.Path]
Job: TypeAlias = Callable[[Files], pa.Table]
Name: TypeAlias = Literal["catalog", "verify", "convert"]

_NAME = pa.dictionary(pa.int32(), pa.string())
_TOLD = [("error_kind", _NAME), ("error", pa.string()), ("path_bytes", pa.string())]

#: The columns of ``verify``: ``passes`` is true for a file without a part that cannot be used.
VERIFY = pa.schema(
    [("path", pa.string()), ("identity", pa.string()), ("format", _NAME), ("passes", pa.bool_())]
    + [(severity, pa.int64()) for severity in ("notes", "suspicious", "forbidden", "unusable")]
    + _TOLD
)

#: The columns of ``convert``: ``state`` is ``written``, ``up_to_date``, ``skipped`` for a file that has nothing to convert, or ``failed``, as
#: in the JSON of the command.
CONVERT = pa.schema(
    [("path", pa.string()), ("identity", pa.string()), ("output", pa.string()), ("state", pa.string())]
    + [("vertices", pa.int64()), ("triangles", pa.int64()), ("left_out", pa.string())]
    + _TOLD
)


def tasks(
    sources: Sources, *, task_bytes: int = 64 << 20, least_tasks: int = 1, done: pa.Table | None = None
) -> list[Task]:
    """The mesh files that sources name, in tasks for jobs. A task can be pickled, and jobs accept it.

    Args:
        sources: As of ``meshmap.find``.
        task_bytes: The bytes of files in a task, which also has at most 1,000 files.
        least_tasks: The number of tasks that there are at least, if there are that many files.
        done: Rows of an earlier run: tasks only have the files that ``missing`` names.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
    """
    left = None if done is None else _left(done)
    return _sources.grouped(_sources.pieces(sources, task_bytes, left), task_bytes, least_tasks)


def catalog(files: Files, **options: Any) -> pa.Table:
    """The rows of ``meshmap.catalog``, or of ``meshmap.geometry``: options are as in ``meshmap.scan``, and ``columns``."""
    return _rows(files, of=table(**options))


def _rows(files: Files, of: Table) -> pa.Table:
    return pa.Table.from_batches(of.batches(_paths(files)), of.schema())


def _paths(files: Files) -> list[Named]:
    return [file.path for file in _sources.listed(files)]


def verify(files: Files) -> pa.Table:
    """A row for each file: whether it passes, as ``meshmap verify`` decides, its first error, and the numbers of its findings."""
    columns = [*(name for name in VERIFY.names if name != "passes"), "part_error_kind", "part_error"]
    checked: list[dict[str, Any]] = []
    for paths in _distinct(_paths(files)):
        rows: dict[tuple[str, str | None], dict[str, Any]] = {}
        for row in pa.table(_meshmap.catalog(paths, full=True, columns=columns)).to_pylist():
            file = rows.setdefault((row["path"], row["path_bytes"]), row)
            if file["error"] is None and row["error"] is not None:
                file |= {"error_kind": row["error_kind"], "error": row["error"]}
        checked.extend(rows.values())
    for file in checked:
        if file["error"] is None:
            file |= {"error_kind": file["part_error_kind"], "error": file["part_error"]}
        file["passes"] = file["error"] is None and not file["unusable"]
    return pa.Table.from_pylist(checked, VERIFY)


def _distinct(paths: list[Named]) -> Iterator[list[Named]]:
    """The paths in parts, in which no two have the same text in the column ``path``: URLs that differ in their queries only are two files."""
    part: dict[str, Named] = {}
    for path in paths:
        text = _sources.shown(path)
        if text in part and part[text] != path:
            yield list(part.values())
            part = {}
        part[text] = path
    if part:
        yield list(part.values())


def convert(
    files: Files, folder: str | os.PathLike[str], *, to: _meshmap._Target = "glb", base: _sources.Path | None = None, **options: Any
) -> pa.Table:
    """Converts each file to one below ``folder``, and has a row for each.

    An output is written again only if the file, the options or the version of this package has changed, or if the output has. It
    appears when it is complete. A file in a store is the same while its URL, without a signature, and its ETag or version are; no part of
    it is fetched to learn these, and no request is made if the task has listed it.

    Args:
        files: A task, or paths and URLs.
        folder: The folder of the outputs, which is made. Several processes may write to it.
        to: The format: see ``meshmap.convert``, which also takes the other options.
        base: Outputs have the same path below ``folder`` as files have below this folder; by default, only their names. Then an output of
            another file, which another task or an earlier run has written, is not replaced: its row has an error that names both files.

    Raises:
        ValueError: Two of the files have the same output, or ``folder`` is a URL. Nothing has been written then.
    """
    folder = _local(folder)
    listed = _sources.listed(files)
    base = None if base is None else _meshmap.named(base)
    places = [None if _is_refused(file.path) else _below(file.path, base) for file in listed]
    outputs = _meshmap.Outputs(folder, [(file.path, place) for file, place in zip(listed, places, strict=True)], to, **options)
    rows = []
    for number, (file, version, place) in enumerate(zip(listed, _versions(listed), places, strict=True)):
        try:
            if place is None:
                raise ValueError(_no_output(file.path, base, folder))
            row = _told(outputs.convert(number, version["identity"], is_named=base is None))
        except (Error, OSError, ValueError) as error:
            kind = getattr(error, "kind", "not_found" if isinstance(error, FileNotFoundError) else "io")
            state = "skipped" if kind == "nothing_to_convert" else "failed"
            row = {"state": state, "error_kind": kind, "error": str(error)}
        rows.append({**version, **row})
    return pa.Table.from_pylist(rows, CONVERT)


def _local(folder: str | os.PathLike[str]) -> Path:
    """The folder of outputs, which is not a URL. A ``Path`` that was made of one has one slash in place of two."""
    text = os.fspath(folder)
    if re.match("[A-Za-z][A-Za-z0-9+.-]+:/", text):
        raise ValueError(
            f"outputs are files on this machine: expected a folder, found {without_secrets(text)}; write to a folder, and copy the files from there"
        )
    return Path(folder).absolute()


def _is_refused(path: Named) -> bool:
    """True for a URL whose key cannot be requested, and would be the path of another output."""
    if not isinstance(path, RemoteUrl) or str(path).startswith("file:"):
        return False
    key = _sources.without_query(path).partition("://")[2].partition("/")[2]
    return any(part in ("", ".", "..") for part in key.split("/"))


def _below(path: Named, base: Named | None) -> str | None:
    """The path of an output below its folder, without its ending. None for a file that is not below ``base``."""
    if base is None:
        return path.name if isinstance(path, RemoteUrl) else os.path.basename(path)
    texts = [_sources.without_query(one) if isinstance(one, RemoteUrl) else one for one in (path, base)]
    below = os.path.relpath(*texts)
    return None if os.path.isabs(below) or below.partition(os.sep)[0] in (os.curdir, os.pardir) else below


def _no_output(path: Named, base: Named | None, folder: Path) -> str:
    """The reason why a file has no output."""
    shown = without_secrets(path)
    if _is_refused(path):
        return f"{shown}: a key with an empty part, '.' or '..' cannot be requested; give the object another key"
    return f"{shown} is not below {without_secrets(base or '')}, so that its output would not be below {folder}"


def _told(done: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row about an output."""
    row = {"output": os.fsencode(done["output"]).decode("utf-8", "replace"), "state": done["state"]}
    if done["state"] == "written":
        left_out = "; ".join(entry["text"] for entry in done["left_out"])
        row |= {"vertices": done["vertices"], "triangles": done["triangles"], "left_out": left_out or None}
    return row


def missing(sources: Sources, done: pa.Table) -> list[Named]:
    """The files that a table of earlier results has no row of, or only rows of another version of the file. Files of a prefix are only listed.

    Rows with an error of the kind ``io`` or ``not_found``, which the next run may not have, count as missing. So do files in stores that have
    neither a strong ETag nor a version.

    Args:
        sources: As of ``meshmap.find``.
        done: The columns ``path``, ``path_bytes``, ``identity`` and ``error_kind`` of earlier results.

    Raises:
        FileNotFoundError: As of ``meshmap.find``.
    """
    left = _left(done)
    pages = _sources.each_page(sources)
    return [file.path for page in pages for file, is_left in zip(page, left(page), strict=True) if is_left]


def _left(done: pa.Table) -> Callable[[list[File]], list[bool]]:
    def version(row: dict[str, Any]) -> tuple[str, str | None, str | None]:
        return row["path"], row["path_bytes"], row["identity"]

    kept = {
        version(row)
        for batch in done.select(["path", "path_bytes", "identity", "error_kind"]).to_batches()
        for row in batch.to_pylist()
        if row["error_kind"] not in ("io", "not_found") and row["identity"] is not None
    }
    return lambda files: [version(row) not in kept for row in _versions(files)]


def _versions(files: list[File]) -> list[dict[str, Any]]:
    """The columns ``path``, ``path_bytes`` and ``identity`` of files."""
    columns = ("path", "path_bytes", "identity")
    rows = _meshmap.versions([(file.path, file.version) for file in files])
    return [dict(zip(columns, row, strict=True)) for row in rows]


def job(name: Name, **options: Any) -> tuple[Job, pa.Schema]:
    """A job by its name, with these options, and the columns of its tables."""
    if name == "catalog":
        of = table(**options)
        return partial(_rows, of=of), of.schema()
    known: dict[str, tuple[Job, pa.Schema]] = {
        "verify": (partial(verify, **options), VERIFY),
        "convert": (partial(convert, **options), CONVERT),
    }
    if name not in known:
        raise ValueError(f"{name!r} is no job: expected 'catalog', 'verify' or 'convert'")
    if name == "convert":
        if "folder" not in options:
            raise TypeError("the job 'convert' needs folder=")
        _local(options["folder"])
    return known[name]


def tables(made: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """The tables of all tasks as one."""
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in made if part.num_columns)])
