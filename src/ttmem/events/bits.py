"""Which bits of a record's eight words mean what, wherever several events share the meaning."""

from typing import NamedTuple

RECORD_BYTES = 64
COMMIT, TIME, TAG, ID, ADDRESS, RESERVED, REQUESTED, PER_BANK = range(8)


class Bits(NamedTuple):
    """Some bits of one word."""

    word: int
    shift: int = 0
    width: int = 64

    def read(self, words: tuple[int, ...]) -> int:
        return words[self.word] >> self.shift & (1 << self.width) - 1

    def write(self, words: list[int], value: int) -> None:
        mask = (1 << self.width) - 1
        words[self.word] = words[self.word] & ~(mask << self.shift) | (value & mask) << self.shift


TYPE = Bits(TAG, 0, 8)
KIND = Bits(TAG, 8, 8)
HEAD = {
    "sequence": Bits(COMMIT, 1, 63),
    "time_ticks": Bits(TIME),
    "kind": KIND,
    "pool": Bits(TAG, 16, 8),
    "flags": Bits(TAG, 24, 8),
    "site": Bits(TAG, 32, 32),
    "target": Bits(RESERVED, 48, 16),
    "thread": Bits(REQUESTED, 48, 16),
}
ALLOCATION = {
    "id": Bits(ID),
    "address": Bits(ADDRESS),
    "reserved_bytes": Bits(RESERVED, 0, 43),
    "requested_bytes": Bits(REQUESTED, 0, 48),
    "per_bank_bytes": Bits(PER_BANK, 0, 48),
    "count": Bits(PER_BANK, 48, 16),
}
PHASE = {"phase": Bits(ID), "name": Bits(ADDRESS)}
