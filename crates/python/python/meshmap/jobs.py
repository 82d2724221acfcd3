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

from . import _isolated, _meshmap, _plan, _sources
from ._done import Done, all_left, versioned
from ._done import upgraded as _upgraded
from ._error import Error
from ._isolated import Isolated as Isolated
from ._meshmap import PASSING_KINDS, RemoteUrl, is_of_store, without_secrets
from ._plan import Task
from ._sources import File, Named, Sources
from ._tables import Table, table

#: The files of a job: a task, or their paths and URLs.
Files: TypeAlias = Task | Iterable[_sources.Path]
Job: TypeAlias = Callable[[Files], pa.Table]
Name: TypeAlias = Literal["catalog", "verify", "convert"]

_NAME = pa.dictionary(pa.int32(), pa.string())
_TOLD = [("error_kind", _NAME), ("error", pa.string()), ("path_bytes", pa.string())]

#: The columns of ``verify``: ``passes`` is true for a file without a part that cannot be used.
VERIFY = versioned(
    [("path", pa.string()), ("identity", pa.string()), ("format", _NAME), ("passes", pa.bool_())]
    + [(severity, pa.int64()) for severity in ("notes", "suspicious", "forbidden", "unusable")]
    + _TOLD
)

#: The columns of ``convert``: ``state`` is ``written``, ``up_to_date``, ``skipped`` for a file that has nothing to convert, or ``failed``, as
#: in the JSON of the command.
CONVERT = versioned(
    [("path", pa.string()), ("identity", pa.string()), ("output", pa.string()), ("state", pa.string())]
    + [("vertices", pa.int64()), ("triangles", pa.int64()), ("left_out", pa.string())]
    + _TOLD
)


def tasks(
    sources: Sources, *, task_bytes: int = 64 << 20, least_tasks: int = 1, done: pa.Table | None = None
) -> list[Task]:
    """The mesh files that sources name, in tasks for jobs. A task can be pickled, and jobs accept it.

    Args:
        sources: As of ``meshmap.find``; also tables of files: an Arrow table, stream or data set, the path or the URL of a Parquet file or of a
            folder of them (``.parquet``), or of the ``manifest.json`` of an inventory of S3. A table has the columns ``path``, ``size`` and
            ``version`` (only the first one has to be there), or the columns of an inventory, of which the mesh files that are not deleted are taken.
        task_bytes: The bytes of files in a task, which also has at most 1,000 files.
        least_tasks: The number of tasks that there are at least, if there are that many files.
        done: Rows of an earlier run: tasks only have the files that ``missing`` names.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
        ValueError: A table has not these columns.
    """
    return list(each_task(sources, task_bytes=task_bytes, least_tasks=least_tasks, done=done))


def each_task(
    sources: Sources, *, task_bytes: int = 64 << 20, least_tasks: int = 1, done: pa.Table | None = None
) -> Iterator[Task]:
    """The tasks of ``tasks``, as they become known: the first one when 10,000 files are, while others are still listed. The order of the
    sources is not kept: up to 16 folders of a long list are listed side by side."""
    return _plan.tasks(sources, task_bytes, least_tasks, None if done is None else Done(done).left)


def catalog(files: Files, *, isolated: Isolated | None = None, **options: Any) -> pa.Table:
    """The rows of ``meshmap.catalog``, or of ``meshmap.geometry``: options are as in ``meshmap.scan``, and ``columns``.

    Args:
        files: A task, or paths and URLs.
        isolated: Works on each file in a separate process with these limits. A file that ends its process is a row whose ``error_kind`` is
            ``killed_worker``.
        options: As of ``meshmap.scan``; ``max_total_bytes`` is the memory for a file.
    """
    return _rows(files, of=table(**options), isolated=isolated)


def _rows(files: Files, of: Table, isolated: Isolated | None = None) -> pa.Table:
    if isolated is not None:
        return _in_processes(partial(_rows, of=of), _plan.listed(files), isolated, of.schema())
    return pa.Table.from_batches(of.batches(_paths(files)), of.schema())


def _paths(files: Files) -> list[Named]:
    return [file.path for file in _plan.listed(files)]


def _in_processes(
    work: Job,
    files: list[File],
    limits: Isolated,
    schema: pa.Schema,
    failed: dict[str, Any] | None = None,
    record: Callable[[File, str], None] = lambda _file, _error: None,
) -> pa.Table:
    """The rows of the files, each by a separate process. ``failed`` are further columns of a file that ends its process; then ``record`` is
    called."""
    made = [schema.empty_table()]
    for file, found in _isolated.each(work, files, limits):
        if not isinstance(found, _isolated.Killed):
            made.append(found)
            continue
        (version,) = _versions([file])
        counts = {field.name: 0 for field in schema if not field.nullable}
        row = {**counts, **version, **(failed or {}), "error_kind": "killed_worker", "error": found.error}
        made.append(pa.Table.from_pylist([row], schema))
        record(file, found.error)
    return pa.concat_tables(made).unify_dictionaries()


def verify(files: Files, *, max_total_bytes: int | None = None, isolated: Isolated | None = None) -> pa.Table:
    """A row for each file: whether it passes, as ``meshmap verify`` decides, its first error, and the numbers of its findings.

    Args:
        files: A task, or paths and URLs.
        max_total_bytes: The memory for a file, as of ``meshmap.catalog``.
        isolated: As of ``catalog``.
    """
    if isolated is not None:
        work = partial(verify, max_total_bytes=max_total_bytes)
        return _in_processes(work, _plan.listed(files), isolated, VERIFY, {"passes": False})
    columns = [*(name for name in VERIFY.names if name != "passes"), "part_error_kind", "part_error"]
    checked: list[dict[str, Any]] = []
    for paths in _distinct(_paths(files)):
        rows: dict[tuple[str, str | None], dict[str, Any]] = {}
        for row in pa.table(_meshmap.catalog(paths, full=True, columns=columns, max_total_bytes=max_total_bytes)).to_pylist():
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
    files: Files,
    folder: str | os.PathLike[str] | RemoteUrl,
    *,
    to: _meshmap._Target = "glb",
    base: _sources.Path | None = None,
    max_total_bytes: int | None = None,
    isolated: Isolated | None = None,
    **options: Any,
) -> pa.Table:
    """Converts each file to one below ``folder``, and has a row for each.

    An output is written again only if the file, the options or the version of this package has changed, or if the output has. A file that
    cannot be converted is read again only then. An output appears when it is complete. A file in a store is the same while its URL, without a
    signature, and its ETag or version are; no part of it is fetched to learn these, and no request is made if the task has listed it.

    Args:
        files: A task, or paths and URLs.
        folder: The folder of the outputs, which is made; or one of a store, such as ``s3://bucket/folder``. Several processes may write to it.
        to: The format: see ``meshmap.convert``, which also takes the other options.
        base: Outputs have the same path below ``folder`` as files have below this folder; by default, only their names. Then an output of
            another file, which another task or an earlier run has written, is not replaced: its row has an error that names both files.
        max_total_bytes: The memory for a file, as of ``meshmap.open``.
        isolated: As of ``catalog``.

    Raises:
        ValueError: Two of the files have the same output, or ``folder`` is a URL of anything but a store. Nothing has been
            written then.
    """
    root = _folder_of(folder)
    listed = _plan.listed(files)
    base = None if base is None else _meshmap.named(base)
    if isolated is None:
        return _convert(files, root, to, base, max_total_bytes, **options)
    process = (isolated.max_bytes, isolated.seconds)
    work = partial(_convert, folder=root, to=to, base=base, max_total_bytes=max_total_bytes, process=process, **options)
    # All of them together: two may have the same output.
    outputs, _ = _outputs(listed, root, to, base, max_total_bytes, process, options)
    numbers = {file: number for number, file in enumerate(listed)}

    def record(file: File, error: str) -> None:
        (version,) = _versions([file])
        outputs.fail(numbers[file], version["identity"], "failed", "killed_worker", error)

    return _in_processes(work, listed, isolated, CONVERT, {"state": "failed"}, record)


def _outputs(
    listed: list[File],
    folder: Path | RemoteUrl,
    to: _meshmap._Target,
    base: Named | None,
    max_total_bytes: int | None,
    process: tuple[int, float] | None,
    options: dict[str, Any],
) -> tuple[_meshmap.Outputs, list[str | None]]:
    """The outputs of files, and their paths below the folder; None for a file that has none."""
    places = [None if _is_refused(file.path) else _below(file.path, base) for file in listed]
    named = [(file.path, place) for file, place in zip(listed, places, strict=True)]
    below = folder.with_secrets() if isinstance(folder, RemoteUrl) else folder
    return _meshmap.Outputs(below, named, to, max_total_bytes, process, **options), places


def _convert(
    files: Files,
    folder: Path | RemoteUrl,
    to: _meshmap._Target,
    base: Named | None,
    max_total_bytes: int | None,
    process: tuple[int, float] | None = None,
    **options: Any,
) -> pa.Table:
    """The rows of files. ``process`` are the bytes and seconds of this process, if they are limited."""
    listed = _plan.listed(files)
    outputs, places = _outputs(listed, folder, to, base, max_total_bytes, process, options)
    rows = []
    for number, (file, version, place) in enumerate(zip(listed, _versions(listed), places, strict=True)):
        try:
            if place is None:
                raise ValueError(_no_output(file.path, base, folder))
            row = outputs.convert(number, version["identity"], is_named=base is None)
        except (Error, OSError, ValueError) as error:
            kind = getattr(error, "kind", "not_found" if isinstance(error, FileNotFoundError) else "io")
            state = "skipped" if kind == "nothing_to_convert" else "failed"
            row = {"state": state, "error_kind": kind, "error": str(error)}
            if isinstance(error, Error) and kind not in PASSING_KINDS:
                outputs.fail(number, version["identity"], state, kind, str(error))
        if output := row.get("output"):
            row["output"] = os.fsencode(output).decode("utf-8", "replace")
        rows.append({**version, **row})
    return pa.Table.from_pylist(rows, CONVERT)


def _folder_of(folder: str | os.PathLike[str] | RemoteUrl) -> Path | RemoteUrl:
    """The folder of outputs: of this machine, or of a store."""
    text = folder.with_secrets() if isinstance(folder, RemoteUrl) else os.fspath(folder)
    # A path that was made of a URL has one slash in place of two.
    scheme = re.match("([A-Za-z][A-Za-z0-9+.-]+):/", text)
    if scheme is None:
        return Path(text).absolute()
    if is_of_store(text) and not isinstance(folder, Path):
        return RemoteUrl(text.rstrip("/") + "/")
    raise ValueError(
        "outputs are files on this machine, or objects of a store such as s3://bucket/folder:"
        f" expected a folder, found {without_secrets(text)}"
    )


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


def _no_output(path: Named, base: Named | None, folder: Path | RemoteUrl) -> str:
    """The reason why a file has no output."""
    shown = without_secrets(path)
    if _is_refused(path):
        return f"{shown}: a key with an empty part, '.' or '..' cannot be requested; give the object another key"
    return f"{shown} is not below {without_secrets(base or '')}, so that its output would not be below {folder}"


def missing(sources: Sources, done: pa.Table) -> list[Named]:
    """The files that a table of earlier results has no row of, or only rows of another version of the file. Files of a prefix are only listed.

    Rows with an error that the next run may not have (``io``, ``not_found``, ``cancelled``, ``panic``, ``need_bytes``) count as missing. So do files in
    stores that have neither a strong ETag nor a version.

    Args:
        sources: As of ``tasks``.
        done: The columns ``path``, ``path_bytes``, ``identity`` and ``error_kind`` of earlier results, also of earlier versions: see
            ``upgraded``.

    Raises:
        FileNotFoundError: As of ``meshmap.find``.
    """
    return [file.path for file in all_left((page for _, page in _sources.pages(sources)), Done(done))]


def upgraded(table: pa.Table) -> pa.Table:
    """A table of an earlier version of this package, as this version makes it, so that both can be joined and concatenated.

    The metadata of the schema of each table has its version (``meshmap.schema``); a table without it is of version 1. Within a version,
    columns are only added, at the end, and no column changes its name, its type or its meaning.

    * Version 2: the ``identity`` of a file on a machine has no longer the number of its device, which changes with each mount.

    Raises:
        ValueError: The table is of a later version than this package knows.
    """
    return _upgraded(table)


def _versions(files: list[File]) -> list[dict[str, Any]]:
    """The columns ``path``, ``path_bytes`` and ``identity`` of files."""
    columns = ("path", "path_bytes", "identity")
    rows = _meshmap.versions([(file.path, file.version) for file in files])
    return [dict(zip(columns, row, strict=True)) for row in rows]


def job(name: Name, **options: Any) -> tuple[Job, pa.Schema]:
    """A job by its name, with these options, and the columns of its tables."""
    if name == "catalog":
        isolated = options.pop("isolated", None)
        of = table(**options)
        return partial(_rows, of=of, isolated=isolated), of.schema()
    known: dict[str, tuple[Job, pa.Schema]] = {
        "verify": (partial(verify, **options), VERIFY),
        "convert": (partial(convert, **options), CONVERT),
    }
    if name not in known:
        raise ValueError(f"{name!r} is no job: expected 'catalog', 'verify' or 'convert'")
    if name == "convert":
        if "folder" not in options:
            raise TypeError("the job 'convert' needs folder=")
        _folder_of(options["folder"])
    return known[name]


def tables(made: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """The tables of all tasks as one."""
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in made if part.num_columns)])
