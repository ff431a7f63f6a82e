"""Replicas in the processes of concurrent.futures: the task takes its own number, and nothing else."""

from concurrent.futures import ProcessPoolExecutor

from simulation import REPLICAS, replica, report, workers

if __name__ == "__main__":
    with ProcessPoolExecutor(workers()) as pool:
        report(list(pool.map(replica, range(REPLICAS))))
