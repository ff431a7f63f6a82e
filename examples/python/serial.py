"""No engine at all: what the others are compared with."""

from simulation import REPLICAS, replica, report

report([replica(number) for number in range(REPLICAS)])
