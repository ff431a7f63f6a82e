"""Replicas as tasks of Ray. A task that Ray runs again after a failure gives the same result."""

from pathlib import Path

import ray
from simulation import REPLICAS, replica, report, workers

if __name__ == "__main__":
    # The workers import `simulation` from this folder.
    paths = {"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}}
    ray.init(num_cpus=workers(), include_dashboard=False, runtime_env=paths, log_to_driver=False)
    task = ray.remote(replica)
    report(ray.get([task.remote(number) for number in range(REPLICAS)]))
    ray.shutdown()
