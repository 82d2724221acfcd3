"""The exception of this package."""

from __future__ import annotations

# As in typing, whose import takes longer than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Error(Exception):
    """A file cannot be read, or only in part. Describes the problem, its location, the expected and the found value.

    Missing files and failing disks are an ``OSError``; what a reader in Python raises comes through as it is.

    Attributes:
        kind: ``unknown_format``, ``truncated``, ``malformed``, ``unsupported``, ``limit_exceeded``, ``out_of_range``,
            ``mismatch``, ``io``, ``not_found``, ``not_finite``, ``not_held``, ``nothing_to_convert``, ``nothing_to_draw`` or
            ``other``.
        format: The name of the format, if it is known.
        address: The part of the file, such as ``snapshots[12].positions``.
        byte_range: First byte that is wrong or missing, and the byte after the last one.
        decoded_range: The same inside of a decoded block; ``byte_range`` is then the range of the stored block.
        path: The path of the file, if it has one.
    """

    kind: str
    format: str | None
    address: str | None
    byte_range: tuple[int, int] | None
    decoded_range: tuple[int, int] | None
    path: str | None

    def __init__(
        self,
        message: str,
        *,
        kind: str = "other",
        format: str | None = None,
        address: str | None = None,
        byte_range: tuple[int, int] | None = None,
        decoded_range: tuple[int, int] | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.format = format
        self.address = address
        self.byte_range = byte_range
        self.decoded_range = decoded_range
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__.copy()
