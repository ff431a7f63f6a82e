"""A column of random numbers with Spark, where row i has element i: any number of partitions gives the same table.

The key is the id of the row, which says what the row is. `spark_partition_id` would say where it is at the moment, and
another number of partitions would then give other numbers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from simulation import SEED, report, workers

from wellspring.random import Elements


def with_noise(tables: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Add the column `noise` to rows in any order."""
    elements = Elements(SEED, "3/2", threads=1)
    for table in tables:
        ids = table["id"].to_numpy()
        noise = np.empty(len(ids))
        # One call for each run of consecutive ids: in the usual case one call for the whole table.
        ends = np.flatnonzero(np.diff(ids) != 1) + 1
        for begin, end in zip(np.r_[0, ends], np.r_[ends, len(ids)], strict=True):
            elements.standard_normal(out=noise[begin:end], first=int(ids[begin]) if end > begin else 0)
        yield table.assign(noise=noise)


if __name__ == "__main__":
    builder = SparkSession.builder.master(f"local[{workers()}]").appName("wellspring")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    # The workers import `simulation` from this folder.
    builder = builder.config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parent))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.range(20_000, numPartitions=3 * workers()).repartition(2 * workers())
    table = rows.mapInPandas(with_noise, "id long, noise double").orderBy("id").toPandas()
    np.testing.assert_array_equal(table["noise"], Elements(SEED, "3/2").standard_normal(20_000))
    report(table["noise"])
    spark.stop()
