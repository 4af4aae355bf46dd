"""Reports one of everything that a journal can hold: chips, a mesh, buffers, a phase, an incident, a named kernel."""

import ttmem
from tests.programs.meeting import meet
from ttmem import _native
from ttmem.devices import Pool

chip = ttmem.open_device(
    0x1A2B, index=3, arch="wormhole_b0", board="n300", grid=(8, 7), capacities={Pool.DRAM: 1 << 30}
)
gone = ttmem.open_device(0x1A2C, index=4)
mesh = ttmem.open_mesh([chip, gone], mesh_id=9)
ttmem.label("a job")
ttmem.report_buffer_alloc(gone, 77, 1024)
ttmem.close(gone)
with ttmem.phase("decode"):
    ttmem.report_buffer_alloc(chip, 1, 512 << 10)
    ttmem.report_incident(chip, 1, 0, requested_bytes=64, bank_count=2, text="no room", options=4)
ttmem.report_cb_alloc(chip, 7, 4096, 1024, 64)
name = _native.client.intern("reader\000928,72")
ttmem.report_kernel_load(chip, 9, 5, 1000, 4, 0, 0, 0, 0, name)
ttmem.report_buffer_alloc(mesh, 2, 4096)
ttmem.report_buffer_free(mesh, 2)
ttmem.report_buffer_free(mesh, 2)
meet()
