"""Workloads of real models and real faults: lists of steps, played on the runtime model and added up by hand."""

from ttmem.metal.workloads.building.arithmetic import ExpectedUse
from ttmem.metal.workloads.building.steps import Beat, Kill, PhaseStep, Step
from ttmem.metal.workloads.catalogue import DEFAULT_WORKLOAD, WORKLOADS, Workload
from ttmem.metal.workloads.player import Player

__all__ = ["DEFAULT_WORKLOAD", "WORKLOADS", "Beat", "ExpectedUse", "Kill", "PhaseStep", "Player", "Step", "Workload"]
