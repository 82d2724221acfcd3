"""Catalogues and geometry with the options that all engines share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import _meshmap

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """The options of ``meshmap.catalog``, or of ``meshmap.geometry`` if ``geometry`` is set."""

    full: bool = False
    hash: bool = False
    #: True, or the columns of ``meshmap.geometry``.
    geometry: bool | tuple[str, ...] = False
    drawn: bool = False
    columns: tuple[str, ...] | None = None
    formats: tuple[str, ...] | None = None
    max_total_bytes: int | None = None

    def of(self, sources: Sequence[str | _meshmap.RemoteUrl], limit: int | None = None) -> _meshmap.Catalog:
        """The rows of these files."""
        if self.geometry:
            names = self.geometry if isinstance(self.geometry, tuple) else None
            columns = names if self.columns is None else self.columns
            return _meshmap.geometry(
                sources,
                columns=columns,
                drawn=self.drawn,
                formats=self.formats,
                limit=limit,
                max_total_bytes=self.max_total_bytes,
            )
        return _meshmap.catalog(
            sources,
            full=self.full,
            hash=self.hash,
            columns=self.columns,
            formats=self.formats,
            limit=limit,
            max_total_bytes=self.max_total_bytes,
        )

    def select(self, columns: Sequence[str]) -> Table:
        """The table with these columns only, and with the same rows."""
        return replace(self, columns=tuple(columns))

    def schema(self) -> pa.Schema:
        """The columns."""
        import pyarrow

        return pyarrow.schema(self.of([]))

    def batches(self, sources: Sequence[str | _meshmap.RemoteUrl], limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of these files, some at a time."""
        import pyarrow

        yield from pyarrow.RecordBatchReader.from_stream(self.of(sources, limit))


def table(
    full: bool = False,
    hash: bool = False,
    geometry: bool | Sequence[str] = False,
    drawn: bool = False,
    columns: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    max_total_bytes: int | None = None,
) -> Table:
    """The table with these options, whose columns and formats are known."""
    made = Table(
        full=full,
        hash=hash,
        geometry=geometry if isinstance(geometry, bool) else tuple(geometry),
        drawn=drawn,
        columns=None if columns is None else tuple(columns),
        formats=None if formats is None else tuple(formats),
        max_total_bytes=max_total_bytes,
    )
    made.of([])
    return made


def cores() -> int:
    """The number of tasks into which work is divided at least, if nothing else is known."""
    return os.cpu_count() or 1


def nested(kind: Any) -> Any:
    """A type of Arrow with lists of any length in place of lists of a fixed length, and with texts in place of dictionaries."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind):
        return kind.value_type
    if pyarrow.types.is_list(kind) or pyarrow.types.is_fixed_size_list(kind):
        return pyarrow.list_(nested(kind.value_type))
    return kind
