"""Uses all that `import ttmem` offers a program that reports, then says what was loaded for it.

Prints a JSON object: packages that are neither ours nor the standard library's, and our own rooms.
"""

import json
import sys

before = set(sys.modules)  # the interpreter's own, and those of the environment it was installed in

import ttmem  # noqa: E402

for name in ttmem.__all__:
    getattr(ttmem, name)

with ttmem.Client(label="a model") as client, ttmem.phase("decode"):
    chip = client.open_device(0xC0, index=0, arch="wormhole_b0")
    handle = client.report_buffer_alloc(chip, 7, 4096)
    assert ttmem.memory_allocated(0) == 4096
    assert "dram" in ttmem.memory_summary().lower()
    [alive] = ttmem.memory_snapshot()
    assert alive["size"] == 4096
    assert alive["stack"]
    client.report_free(handle)
ttmem.GraphTracker().close()

loaded = set(sys.modules) - before
tops = {name.partition(".")[0] for name in loaded} - {"ttmem", "__main__"}
rooms = {name.split(".")[1] for name in loaded if name.startswith("ttmem.")}
print(json.dumps({"third parties": sorted(tops - sys.stdlib_module_names), "rooms": sorted(rooms)}))
