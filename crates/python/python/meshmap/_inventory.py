"""Tables of files: Arrow, Parquet, and inventories of S3, as batches of paths, sizes and versions."""

from __future__ import annotations

import base64
import json
import os
import posixpath
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from . import _meshmap
from ._drawn import EXTENSIONS
from ._meshmap import RemoteUrl
from ._sources import File

if TYPE_CHECKING:
    import numpy as np
    import pyarrow.dataset as ds
    import pyarrow.fs

#: The columns of a table of files. ``path`` is a path or a URL, ``size`` its bytes, ``version`` what the column ``identity`` of other tables
#: has: the strong ETag of an object, or its version. Only ``path`` has to be there. ``path_bytes`` is as in other tables.
FILES = pa.schema([("path", pa.string()), ("size", pa.int64()), ("version", pa.string()), ("path_bytes", pa.string())])

#: The most files of a batch.
_BATCH = 1 << 16


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """Files of a table."""

    batch: pa.RecordBatch
    #: True for the rows that are chosen; None if all are.
    mask: pa.BooleanArray | None = None
    #: True if the caller holds the table, so that a copy of some rows would take memory twice.
    is_held: bool = False

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self.batch) if self.mask is None else int(self.mask.true_count)

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return int(self.sizes().sum())

    def rows(self) -> pa.RecordBatch:
        """The rows of the files."""
        return self.batch if self.mask is None else self.batch.filter(self.mask)

    def sizes(self) -> np.ndarray[Any, Any]:
        """The bytes of each file; 0 if they are not known."""
        column = self.batch["size"] if self.mask is None else self.batch["size"].filter(self.mask)
        sizes: np.ndarray[Any, Any] = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        return sizes

    def divided(self, ends: list[int]) -> Iterator[Rows]:
        """Parts of the files, without a copy, each up to one of the numbers."""
        import numpy as np

        places = None if self.mask is None else np.flatnonzero(self.mask.to_numpy(zero_copy_only=False))
        start = 0
        for end in ends:
            if places is None or self.mask is None:
                yield Rows(self.batch.slice(start, end - start), None, self.is_held)
            else:
                first, length = int(places[start]), int(places[end - 1]) + 1 - int(places[start])
                yield Rows(self.batch.slice(first, length), self.mask.slice(first, length), self.is_held)
            start = end

    def chosen(self, chosen: Iterable[bool]) -> Rows:
        """The files that are chosen, of rows of which all were."""
        mask = pa.array(chosen, pa.bool_())
        if mask.true_count == len(mask):
            return self
        return Rows(self.batch, mask, True) if self.is_held else Rows(self.batch.filter(mask))

    @staticmethod
    def joined(rows: list[Rows]) -> Rows:
        """The files of several parts."""
        table = pa.Table.from_batches([part.rows() for part in rows], FILES).combine_chunks()
        return Rows(table.to_batches()[0])

    def listed(self) -> Iterator[File]:
        """The files."""
        rows = self.rows()
        columns = (rows[name].to_pylist() for name in FILES.names)
        for path, size, version, path_bytes in zip(*columns, strict=True):
            path = path if path_bytes is None else os.fsdecode(base64.b64decode(path_bytes))
            yield File(_meshmap.named(path), size or 0, version)

    def __repr__(self) -> str:
        return f"Rows({self.files} files, size={self.size})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A slice would be pickled with the rest of its table.
        return _rows, (self.rows().serialize().to_pybytes(),)


def _rows(data: bytes) -> Rows:
    return Rows(pa.ipc.read_record_batch(pa.py_buffer(data), FILES))


def _path(source: Any) -> str:
    return source.with_secrets() if isinstance(source, RemoteUrl) else os.fsdecode(source)


def batches(source: Any) -> Iterator[Rows]:
    """The files of a table, some at a time.

    Raises:
        ValueError: The table has neither the columns of a table of files nor the columns of an inventory.
    """
    is_held = isinstance(source, pa.Table)
    for batch in _batches(source):
        for start in range(0, batch.num_rows, _BATCH):
            rows = _files(batch.slice(start, _BATCH))
            if rows.num_rows:
                yield Rows(rows, None, is_held)


def _batches(source: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(source, pa.Table):
        yield from source.to_batches()
    elif hasattr(source, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(source)
    elif hasattr(source, "get_fragments"):
        yield from _of_data_set(source)
    else:
        yield from _of_path(_path(source).rstrip("/"))


def _of_data_set(source: ds.Dataset) -> Iterator[pa.RecordBatch]:
    import pyarrow.dataset as ds

    names = [name for name in source.schema.names if name in FILES.names or name in _INVENTORY]
    for fragment in source.get_fragments():
        options = {"batch_size": _BATCH, "batch_readahead": 1, "fragment_readahead": 1}
        if isinstance(fragment, ds.ParquetFileFragment):
            # By default, the bytes of the whole file are read at once.
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)
        yield from fragment.to_batches(columns=names, **options)


def _of_path(path: str) -> Iterator[pa.RecordBatch]:
    import pyarrow.dataset as ds

    files, inner = _file_system(path)
    if not path.endswith("manifest.json"):
        yield from _of_data_set(ds.dataset(inner, filesystem=files, format="parquet"))
        return
    with files.open_input_stream(inner) as stream:
        manifest = json.loads(stream.read())
    folder = posixpath.join(posixpath.dirname(posixpath.dirname(inner)), "data")
    data = [posixpath.join(folder, posixpath.basename(file["key"])) for file in manifest["files"]]
    kind = manifest["fileFormat"].lower()
    if kind == "csv":
        names = [_COLUMNS_OF_CSV.get(name.strip(), name.strip()) for name in manifest["fileSchema"].split(",")]
        for file in data:
            yield from _of_csv(files, file, names)
    else:
        yield from _of_data_set(ds.dataset(data, filesystem=files, format=kind))


def _file_system(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of a path or a URL, and the path in it. The settings of S3 are the same as for files in stores."""
    from pyarrow import fs

    if not path.startswith("s3://"):
        return fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), os.path.abspath(path))
    endpoint = os.environ.get("AWS_ENDPOINT") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = endpoint.rpartition("://")
    options = {"scheme": scheme or "https", "endpoint_override": host} if host else {}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return fs.S3FileSystem(region=region, **options), path.removeprefix("s3://")


#: The columns of an inventory of S3 that are read.
_INVENTORY = ("bucket", "key", "size", "e_tag", "version_id", "is_latest", "is_delete_marker")

#: Their names in the manifest of an inventory in CSV.
_COLUMNS_OF_CSV = {
    "Bucket": "bucket",
    "Key": "key",
    "Size": "size",
    "ETag": "e_tag",
    "VersionId": "version_id",
    "IsLatest": "is_latest",
    "IsDeleteMarker": "is_delete_marker",
}


def _of_csv(files: pyarrow.fs.FileSystem, path: str, names: list[str]) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    known = [name for name in names if name in _INVENTORY]
    kinds = {"size": pa.int64(), "is_latest": pa.bool_(), "is_delete_marker": pa.bool_()}
    convert = csv.ConvertOptions(
        column_types={name: kinds.get(name, pa.string()) for name in known},
        include_columns=known,
        null_values=[""],
        strings_can_be_null=True,
    )
    with files.open_input_stream(path) as stream:
        for batch in csv.open_csv(stream, csv.ReadOptions(column_names=names), convert_options=convert):
            # Keys are encoded like forms, only in this format.
            keys = [urllib.parse.unquote_plus(key) for key in batch["key"].to_pylist()]
            yield batch.set_column(batch.schema.get_field_index("key"), "key", pa.array(keys, pa.string()))


#: The keys of mesh files, and keys that are a part of their URL as they are.
_MESH = rf"(?i)\.({'|'.join(EXTENSIONS)})$"
_PART = "[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9_~!$&'()*+,;=:@.-]*"
_PLAIN = f"^{_PART}(/{_PART})*$"


def _files(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch with the columns of a table of files."""
    names = set(batch.schema.names)

    def column(name: str) -> pa.Array:
        kind = FILES.field(name).type
        return batch[name].cast(kind) if name in names else pa.nulls(batch.num_rows, kind)

    if "path" in names:
        return pa.record_batch([column(name) for name in FILES.names], FILES)
    if {"bucket", "key"} <= names:
        return _of_inventory(batch.select([name for name in _INVENTORY if name in names]))
    raise ValueError(
        "a table of files has the columns path, size and version, or those of an inventory of S3, such as bucket and key:"
        f" found {', '.join(batch.schema.names) or 'none'}"
    )


def _of_inventory(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The mesh files of an inventory of S3."""
    is_file = pc.match_substring_regex(batch["key"].cast(pa.string()), _MESH)
    for name, wanted in (("is_latest", True), ("is_delete_marker", False)):
        if name in batch.schema.names:
            is_file = pc.and_(is_file, pc.fill_null(pc.equal(batch[name].cast(pa.bool_()), wanted), True))
    batch = batch.filter(is_file)
    buckets, keys = batch["bucket"].cast(pa.string()), batch["key"].cast(pa.string())
    versions = pa.nulls(batch.num_rows, pa.string())
    for name in ("version_id", "e_tag"):
        if name in batch.schema.names:
            texts = pc.utf8_trim(batch[name].cast(pa.string()), '"')
            is_known = pc.fill_null(pc.and_(pc.not_equal(texts, ""), pc.not_equal(texts, "null")), False)
            versions = pc.if_else(is_known, texts, versions)
    paths = pc.binary_join_element_wise("s3://", buckets, "/", keys, "")
    # Other keys are encoded, as in lists.
    is_plain = pc.match_substring_regex(keys, _PLAIN)
    if is_plain.false_count:
        rows = zip(paths.to_pylist(), is_plain.to_pylist(), buckets.to_pylist(), keys.to_pylist(), strict=True)
        encoded = (path if plain else _meshmap.url_of_key(RemoteUrl(f"s3://{bucket}/"), key).with_secrets() for path, plain, bucket, key in rows)
        paths = pa.array(encoded, pa.string())
    sizes = batch["size"].cast(pa.int64()) if "size" in batch.schema.names else pa.nulls(batch.num_rows, pa.int64())
    return pa.record_batch([paths, sizes, versions, pa.nulls(batch.num_rows, pa.string())], FILES)
