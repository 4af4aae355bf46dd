"""Answers about room from a recording: each module gathers what its namesake in `analysis.room` says."""

from ttmem.figures.room.advice import advice_report
from ttmem.figures.room.cores import cores_report
from ttmem.figures.room.floor import floor_report, headroom_report
from ttmem.figures.room.holes import holes_report
from ttmem.figures.room.run import RoomRun
from ttmem.figures.room.traces import trace_report

__all__ = [
    "RoomRun",
    "advice_report",
    "cores_report",
    "floor_report",
    "headroom_report",
    "holes_report",
    "trace_report",
]
