"""A data source of Spark 4: ``spark.read.format("meshmap").load(folder)`` is the catalogue of a folder of mesh files.

Options: ``job`` (``catalog``, ``velocities`` or ``convert``), and those of the job, as the command takes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jobs
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema


@dataclass
class Files(InputPartition):
    """Some files, which one task reads."""

    paths: list[str]


class MeshSource(DataSource):
    """Registered as ``meshmap``."""

    @classmethod
    def name(cls) -> str:
        return "meshmap"

    def schema(self) -> Any:
        return from_arrow_schema(job_of(self.options)[1])

    def reader(self, schema: Any) -> DataSourceReader:
        return MeshReader(dict(self.options))


class MeshReader(DataSourceReader):
    """Makes Arrow tables of some files at a time."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        paths = jobs.files_below(self.options["path"])
        # Neighbours are of like size in many folders: each task gets some of all.
        count = max(len(paths) // 64, 1)
        return [Files(paths[start::count]) for start in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Files)
        job, schema = job_of(self.options)
        for batch in job(partition.paths).cast(schema).to_batches():
            if batch.num_rows:
                yield batch


def job_of(options: Any) -> tuple[jobs.Job, pa.Schema]:
    """The job that the options of a reader mean."""
    words = [options.get("job", "catalog"), options["path"], "-o", os.devnull]
    words += ["--full"] if options.get("full", "false") == "true" else []
    for name, flag in (("into", "--into"), ("to", "--to"), ("die_once", "--die-once")):
        if options.get(name):
            words += [flag, options[name]]
    return jobs.job_of(jobs.arguments("").parse_args(words))
