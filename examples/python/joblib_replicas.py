"""Replicas with joblib."""

from joblib import Parallel, delayed
from simulation import REPLICAS, replica, report, workers

if __name__ == "__main__":
    report(Parallel(n_jobs=workers())(delayed(replica)(number) for number in range(REPLICAS)))
