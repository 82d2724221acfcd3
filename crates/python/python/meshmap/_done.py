"""Joins of files with the tables of earlier runs, and tables of earlier versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from . import _meshmap
from ._inventory import Rows
from ._sources import File, Page, files_of

#: The metadata key of the version.
_KEY = b"meshmap.schema"

#: The columns of results by which files are joined.
JOINED = ("path", "path_bytes", "identity", "error_kind")

_BATCH = 1 << 16


def versioned(columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
    """A schema with the version of tables."""
    return pa.schema(columns, {_KEY: str(_meshmap.SCHEMA_VERSION).encode()})


def version_of(schema: pa.Schema) -> int:
    """The version of a table.

    Raises:
        ValueError: It is of a later version.
    """
    version = int((schema.metadata or {}).get(_KEY, b"1"))
    if version > _meshmap.SCHEMA_VERSION:
        raise ValueError(
            f"the table has version {version}, and meshmap {_meshmap.__version__} knows tables up to version {_meshmap.SCHEMA_VERSION}: install the version that wrote it"
        )
    return version


def upgraded(table: pa.Table) -> pa.Table:
    """See ``meshmap.jobs.upgraded``."""
    version = version_of(table.schema)
    if version < 2 and "identity" in table.schema.names and "path" in table.schema.names:
        place = table.schema.get_field_index("identity")
        chunks = [_without_device(batch["path"], batch["identity"]) for batch in table.to_batches()]
        table = table.set_column(place, table.schema.field(place), pa.chunked_array(chunks, pa.string()))
    return table.cast(table.schema.with_metadata({**(table.schema.metadata or {}), _KEY: str(_meshmap.SCHEMA_VERSION).encode()}))


#: The identity of a file on a machine in version 1: the number of its device, which changes with each mount, comes first.
_WITH_DEVICE = "^[0-9a-f]+-([0-9a-f]+-[0-9a-f]+-[0-9a-f]+)$"


def _without_device(paths: pa.Array, identities: pa.Array) -> pa.Array:
    paths, identities = paths.cast(pa.string()), identities.cast(pa.string())
    is_local = pc.invert(pc.match_substring_regex(paths, "^[A-Za-z][A-Za-z0-9+.-]*://"))
    return pc.if_else(is_local, pc.replace_substring_regex(identities, _WITH_DEVICE, r"\1"), identities)


class Done:
    """The versions of files that need no more work, by the rows of earlier runs. It takes 16 bytes for each."""

    def __init__(self, done: pa.Table) -> None:
        version = version_of(done.schema)
        columns = done.select(list(JOINED))
        self._hashes = _meshmap.Done(columns.num_rows)
        for batch in columns.to_batches(max_chunksize=_BATCH):
            kinds = batch["error_kind"].cast(pa.string())
            is_done = pc.and_(pc.is_valid(batch["identity"]), pc.invert(pc.fill_null(pc.is_in(kinds, pa.array(_meshmap.PASSING_KINDS)), False)))
            batch = batch.filter(is_done)
            identities = batch["identity"] if version >= 2 else _without_device(batch["path"], batch["identity"])
            self._hashes.add(*_buffers(batch["path"], batch["path_bytes"], identities))

    def left(self, page: Page) -> list[bool]:
        """For each file, true if it needs work."""
        if isinstance(page, list):
            paths, path_bytes, identities = _columns_of(files_of(page))
        else:
            paths, path_bytes, identities = _columns_of_rows(page)
        is_done = self._hashes.has(*_buffers(paths, path_bytes, identities))
        return [not (done and known) for done, known in zip(is_done, identities.is_valid().to_pylist(), strict=True)]


def _columns_of(files: list[File]) -> tuple[pa.Array, pa.Array, pa.Array]:
    rows = _meshmap.versions([(file.path, file.version) for file in files])
    paths, path_bytes, identities = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.array(paths, pa.string()), pa.array(path_bytes, pa.string()), pa.array(identities, pa.string())


def _columns_of_rows(rows: Rows) -> tuple[pa.Array, pa.Array, pa.Array]:
    paths, path_bytes, identities = rows.batch["path"], rows.batch["path_bytes"], rows.batch["version"]
    # URLs that are shown in another way, and files whose version the table has not.
    others = pc.or_(pc.match_substring_regex(paths, "://[^/]*@|://.*[?#]"), pc.is_null(identities))
    if not others.true_count:
        return paths, path_bytes, identities
    numbers = pc.indices_nonzero(others)
    looked_up = _columns_of(list(Rows(rows.batch.take(numbers)).listed()))
    made = zip((paths, path_bytes, identities), looked_up, strict=True)
    paths, path_bytes, identities = (pc.replace_with_mask(column, others, other) for column, other in made)
    return paths, path_bytes, identities


def _buffers(paths: pa.Array, path_bytes: pa.Array, identities: pa.Array) -> tuple[Any, Any]:
    """The offsets and the bytes of texts that two files have only if their paths and versions are equal. No path has a zero byte."""
    columns = [pc.fill_null(column.cast(pa.string()), "") for column in (paths, path_bytes, identities)]
    texts = pc.binary_join_element_wise(*columns, "\0")
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("B").cast("i")[texts.offset : texts.offset + len(texts) + 1]
    return ends, memoryview(b"" if data is None else data).cast("B")


def all_left(pages: Iterable[Page], done: Done) -> Iterator[File]:
    """The files of pages that need work."""
    for page in pages:
        left = done.left(page)
        if isinstance(page, list):
            yield from (file for (_, file), is_left in zip(page, left, strict=True) if is_left)
        else:
            yield from page.chosen(left).listed()
