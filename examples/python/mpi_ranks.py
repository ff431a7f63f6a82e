"""Replicas with MPI: `mpirun -n 4 python mpi_ranks.py`. The rank decides who works, and is in no path."""

from mpi4py import MPI
from simulation import REPLICAS, replica, report

if __name__ == "__main__":
    world = MPI.COMM_WORLD
    own = {number: replica(number) for number in range(world.rank, REPLICAS, world.size)}
    parts = world.gather(own)
    if parts is not None:
        results = {number: result for part in parts for number, result in part.items()}
        report([results[number] for number in range(REPLICAS)])
