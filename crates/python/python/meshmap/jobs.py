"""Work on many files, for any engine: each job makes an Arrow table of a few files.

A file that cannot be read is a row with ``error_kind`` and ``error``: a job raises nothing that a file can cause. Each row names the
file (``path``) and the version of it (``identity``), so that rows of different runs can be joined: see ``missing``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from . import _meshmap, _sources
from ._error import Error
from ._tables import Table, table

Job: TypeAlias = Callable[[Sequence[str]], pa.Table]
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


def catalog(paths: Sequence[str], **options: Any) -> pa.Table:
    """The rows of ``meshmap.catalog``, or of ``meshmap.geometry``: options are as in ``meshmap.scan``, and ``columns``."""
    return _rows(paths, of=table(**options))


def _rows(paths: Sequence[str], of: Table) -> pa.Table:
    return pa.Table.from_batches(of.batches(paths), of.schema())


def verify(paths: Sequence[str]) -> pa.Table:
    """A row for each file: whether it passes, as ``meshmap verify`` decides, its first error, and the numbers of its findings."""
    columns = [*(name for name in VERIFY.names if name != "passes"), "part_error_kind", "part_error"]
    files: dict[tuple[str, str | None], dict[str, Any]] = {}
    for row in pa.table(_meshmap.catalog(paths, full=True, columns=columns)).to_pylist():
        file = files.setdefault((row["path"], row["path_bytes"]), row)
        if file["error"] is None and row["error"] is not None:
            file |= {"error_kind": row["error_kind"], "error": row["error"]}
    for file in files.values():
        if file["error"] is None:
            file |= {"error_kind": file["part_error_kind"], "error": file["part_error"]}
        file["passes"] = file["error"] is None and not file["unusable"]
    return pa.Table.from_pylist(list(files.values()), VERIFY)


def convert(
    paths: Sequence[str], folder: str | os.PathLike[str], *, to: _meshmap._Target = "glb", base: str | None = None, **options: Any
) -> pa.Table:
    """Converts each file to one below ``folder``, and has a row for each.

    An output is written again only if the file, the options or the version of this package has changed, or if the output has. It
    appears when it is complete.

    Args:
        paths: The files, or addresses of stores.
        folder: The folder of the outputs, which is made. Several processes may write to it.
        to: The format: see ``meshmap.convert``, which also takes the other options.
        base: Outputs have the same path below ``folder`` as files have below this folder; by default, only their names.
    """
    folder = Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if options.get("textures"):
        # Another working directory has other folders.
        options = {**options, "textures": [os.path.abspath(each) for each in options["textures"]]}
    outputs = _meshmap.Outputs(folder, json.dumps({"to": to, **options}, sort_keys=True, default=str))
    versions = _versions(paths)
    rows = [{**versions[path], **_converted(path, folder, to, base, outputs, options)} for path in paths]
    return pa.Table.from_pylist(rows, CONVERT)


def _converted(
    path: str, folder: Path, to: _meshmap._Target, base: str | None, outputs: _meshmap.Outputs, options: dict[str, Any]
) -> dict[str, Any]:
    below = os.path.basename(path) if base is None else os.path.relpath(path, base)
    output = folder / f"{below}.{to}"
    try:
        if not output.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{path} is not below {base}, so that its output would not be below {folder}")
        made_from = outputs.fingerprint(path)
        if made_from is not None and outputs.is_up_to_date(output, made_from):
            return {"output": str(output), "state": "up_to_date"}
        output.parent.mkdir(parents=True, exist_ok=True)
        done = _meshmap.convert(path, output, to=to, **options)
        if made_from is not None:
            outputs.add(output, made_from, done["files"], done["looked_for"])
    except (Error, OSError, ValueError) as error:
        kind = getattr(error, "kind", "io")
        state = "skipped" if kind == "nothing_to_convert" else "failed"
        return {"state": state, "error_kind": kind, "error": str(error)}
    told = {"vertices": done["vertices"], "triangles": done["triangles"], "left_out": "; ".join(done["left_out"]) or None}
    return {"output": str(output), "state": "written", **told}


def missing(paths: Sequence[str], done: pa.Table) -> list[str]:
    """The files that a table of earlier results has no row of, or only rows of another version of the file.

    Rows with an error of the kind ``io`` or ``not_found``, which the next run may not have, count as missing.
    """
    def version(row: dict[str, Any]) -> tuple[str, str | None, str | None]:
        return row["path"], row["path_bytes"], row["identity"]

    kept = {
        version(row)
        for row in done.select(["path", "path_bytes", "identity", "error_kind"]).to_pylist()
        if row["error_kind"] not in ("io", "not_found") and row["identity"] is not None
    }
    return [path for path, row in _versions(paths).items() if version(row) not in kept]


def left(sources: _sources.Sources, done: pa.Table | None) -> list[tuple[str, int]]:
    """The files that sources name, and their sizes; with ``done``, only the files that ``missing`` names."""
    files = _sources.found(sources)
    if done is None:
        return files
    paths = set(missing([path for path, _ in files], done))
    return [file for file in files if file[0] in paths]


def _versions(paths: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The columns ``path``, ``path_bytes`` and ``identity`` of files."""
    columns = ["path", "path_bytes", "identity"]
    rows = (pa.table(_meshmap.catalog(path, columns=columns, limit=1)).to_pylist() for path in paths)
    return {
        path: row[0] if row else {"path": _sources.shown(path), "path_bytes": None, "identity": None}
        for path, row in zip(paths, rows, strict=True)
    }


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
    if name == "convert" and "folder" not in options:
        raise TypeError("the job 'convert' needs folder=")
    return known[name]


def tables(made: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """The tables of all tasks as one."""
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in made if part.num_columns)])
