"""`dask.array.random` with a bit generator of wellspring: each chunk has a path of its own.

The array depends on its chunks, as with every bit generator, but not on the workers. `dask_chunks.py` is free of both.
"""

import dask
import dask.array as da
from simulation import SEED, report, workers

from wellspring.random import ChaCha8

if __name__ == "__main__":
    rng = da.random.default_rng(ChaCha8(SEED, path="3/1"))
    x = rng.normal(10, 2, size=(1000, 500), chunks=(100, 500))
    with dask.config.set(scheduler="threads", num_workers=workers()):
        report(x.compute())
