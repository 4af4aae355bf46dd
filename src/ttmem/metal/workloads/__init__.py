"""Workloads of real models and real faults: lists of steps, played on the runtime model and added up by hand."""

from ttmem.metal.workloads.arithmetic import Reckoning
from ttmem.metal.workloads.catalogue import DEFAULT_WORKLOAD, WORKLOADS, Workload
from ttmem.metal.workloads.player import Player
from ttmem.metal.workloads.steps import Beat, Kill, Phase, Step

__all__ = ["DEFAULT_WORKLOAD", "WORKLOADS", "Beat", "Kill", "Phase", "Player", "Reckoning", "Step", "Workload"]
