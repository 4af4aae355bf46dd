"""Workloads of real models and real faults: lists of steps, played on the runtime model and added up by hand."""
