"""A job over a folder of mesh files with Ray Data.

    python ray_job.py catalog FOLDER -o assets.parquet
    python ray_job.py velocities FOLDER -o velocities.parquet
    python ray_job.py convert FOLDER --into OUT -o converted.parquet
"""

from __future__ import annotations

import os

import jobs
import pyarrow as pa
import pyarrow.parquet
import ray


def main() -> None:
    options = jobs.arguments(__doc__ or "").parse_args()
    job, schema = jobs.job_of(options)
    # Workers find jobs.py where this file is.
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}}
    address = os.environ.get("RAY_ADDRESS")
    ray.init(address=address, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def some(batch: pa.Table) -> pa.Table:
        return job(batch["path"].to_pylist())

    paths = jobs.files_below(options.folder)
    parts = ray.data.from_arrow(pa.table({"path": pa.array(paths, pa.string())})).repartition(max(len(paths) // 64, 1))
    made = parts.map_batches(some, batch_format="pyarrow", batch_size=64)
    tables = [ray.get(reference) for reference in made.to_arrow_refs()]
    table = pa.concat_tables([table.cast(schema) for table in tables if table.num_columns] or [schema.empty_table()])
    pyarrow.parquet.write_table(table, options.output)
    print(f"{options.output}: {table.num_rows} rows of {len(paths)} files")
    ray.shutdown()


if __name__ == "__main__":
    main()
