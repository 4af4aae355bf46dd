"""Makes every call of the older client, on two devices: kernels and buffers of each type, circular buffers."""

from tests.programs.meeting import meet
from ttmem import AllocationClient

client = AllocationClient()
for device in (0, 3):
    client.report_kernel_load(device, 57344 * 16, 1, 1)
    client.report_kernel_load(device, 47104 * 2, 2, 2)
    client.report_kernel_load(device, 131072, 3)
    client.report_cb_allocation(device, 4096, 0x1000)
    client.report_cb_allocation(device, 2048, 0x3000)
    for id, kind in enumerate((0, 1, 2, 3, 4), 0x4000):
        client.report_allocation(device, 1000 + id, kind, id)
client.report_allocation(0, 3 << 20, 1, 0x9000)
client.report_deallocation(0, 0x4000)
client.report_cb_deallocation(0, 4096, 0x1000)
client.report_kernel_load(0, 135168, 3)
client.report_kernel_unload(3, 131072, 3)
client.report_deallocation(0, 0x777)
meet()
