"""JSON documents as tests read them: figures of pools and kinds by name, and a chip's names beside its figures."""

import json
from typing import Any

from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import encoded
from ttmem.view.pages.smi import smi_document

__all__ = ["opened", "shown_document"]

Document = dict[str, Any]


def opened(document: Document) -> Document:
    """The document of `ttmem -s`, or a snapshot of a daemon: chips in `device_info`, and wherever figures are listed by
    pool or kind, `memory` and `by_kind`, by name; counts of a process's findings by name."""
    listed = document.get("device_info")
    chips = [one | one["ttmem"] for one in listed] if listed is not None else document.get("devices", [])
    processes = [_process(process) for process in document.get("processes", [])]
    return document | {"device_info": [_named(chip) for chip in chips], "processes": processes}


def shown_document(snapshot: Snapshot) -> Document:
    """What `ttmem -s` prints of a snapshot, opened."""
    return opened(json.loads(encoded(smi_document(snapshot))))


def _process(process: Document) -> Document:
    held = {name: [_named(one) for one in process.get(name, [])] for name in ("devices", "other_devices")}
    findings = {finding["name"]: finding["count"] for finding in process["findings"]}
    return _by_name(process) | held | {"findings": findings}


def _named(row: Document) -> Document:
    """With what its chip is called."""
    chip = row["device"]
    return _by_name(row | chip | {"uuid": chip["unique_id"] if chip["is_known"] else None})


def _by_name(row: Document) -> Document:
    memory = {pool["pool"]: pool for pool in row["pools"]}
    return row | {"memory": memory, "by_kind": {kind["kind"]: kind for kind in row["kinds"]}}
