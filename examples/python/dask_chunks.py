"""An array of Dask that does not depend on its chunks. The number of workers gives the number of chunks here."""

from simulation import SEED, report, workers

from wellspring.dask import Elements

if __name__ == "__main__":
    rows = 1000 // workers()
    x = Elements(SEED, "3/0").standard_normal((1000, 500), chunks=(rows, 499))
    report((x * 2 + 1).compute())
