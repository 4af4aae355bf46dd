"""Buffers of the stand-in as the hook tells them."""

from tests.support.stand_in.host import CHIP, Host, unequal
from ttmem.devices import Pool


def test_a_buffer_is_told_as_the_allocator_gave_it(host: Host) -> None:
    address = host.tell("open 1 1 0", "buffer 4 1 DRAM 8192 2048")
    [told] = host.look().buffers

    assert (told.id, told.address, told.pool, told.chips) == (4, int(address), Pool.DRAM, (CHIP,))
    assert (told.requested_bytes, told.per_bank_bytes, told.reserved_bytes) == (8192, 2048, 2048 * 12)
    assert unequal(host.tell("tallies")) == []
