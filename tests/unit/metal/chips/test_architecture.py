"""Architectures: the figures that other figures must follow from, in each build of the runtime."""

from dataclasses import fields

import pytest

from ttmem.metal.chips import BUILDS, DEFAULT_BUILD, Architecture, DispatchCores, UnknownHardware, architecture
from ttmem.tracking import CoreType

WORMHOLE, BLACKHOLE = "wormhole_b0", "blackhole"
EVERY = [(arch, build) for arch in (WORMHOLE, BLACKHOLE) for build in BUILDS]


def test_the_wheel_is_the_build_one_gets_unasked() -> None:
    assert DEFAULT_BUILD == "0.81.1"
    assert architecture(WORMHOLE) == architecture(WORMHOLE, "0.81.1")


@pytest.mark.parametrize(
    ("arch", "build", "kernel_config_base", "l1_unreserved_base", "l1_bank_bytes"),
    [
        (WORMHOLE, "0.81.1", 35_168, 105_824, 1_393_312),
        (WORMHOLE, "source", 35_008, 105_664, 1_393_472),
        (BLACKHOLE, "0.81.1", 41_088, 111_744, 1_461_120),
        (BLACKHOLE, "source", 40_960, 111_616, 1_461_248),
    ],
)
def test_buffers_begin_where_the_kernel_ring_ends(
    arch: str, build: str, kernel_config_base: int, l1_unreserved_base: int, l1_bank_bytes: int
) -> None:
    silicon = architecture(arch, build)

    assert silicon.kernel_config_base == kernel_config_base
    assert silicon.ring_bytes() == 70_656
    assert silicon.l1_unreserved_base == l1_unreserved_base
    assert silicon.l1_bank_bytes == l1_bank_bytes


@pytest.mark.parametrize(
    ("arch", "build", "reserved_bytes"),
    [
        (WORMHOLE, "0.81.1", 1_048_640),
        (WORMHOLE, "source", 2_968_640),
        (BLACKHOLE, "0.81.1", 1_048_704),
        (BLACKHOLE, "source", 5_848_704),
    ],
)
def test_the_runtime_keeps_the_bottom_of_every_dram_bank(arch: str, build: str, reserved_bytes: int) -> None:
    assert architecture(arch, build).dram_reserved_bytes == reserved_bytes


@pytest.mark.parametrize(("arch", "build"), EVERY)
def test_what_the_free_list_deals_in_divides_bases_and_banks(arch: str, build: str) -> None:
    silicon = architecture(arch, build)
    step = silicon.dram_alignment

    assert [silicon.l1_unreserved_base % step, silicon.l1_bytes % step] == [0, 0]
    assert [silicon.dram_reserved_bytes % step, silicon.dram_bank_bytes % step] == [0, 0]


@pytest.mark.parametrize(
    ("arch", "core_type", "ring"),
    [
        (WORMHOLE, CoreType.ACTIVE_ETH, (258_336, 640, False)),
        (WORMHOLE, CoreType.IDLE_ETH, (32_368, 25_600, True)),
        (BLACKHOLE, CoreType.ACTIVE_ETH, (62_256, 26_624, True)),
        (BLACKHOLE, CoreType.IDLE_ETH, (64_944, 26_624, True)),
        (BLACKHOLE, CoreType.DRAM, (None, 2_048, False)),
    ],
)
def test_other_cores_have_rings_of_their_own(
    arch: str, core_type: CoreType, ring: tuple[int | None, int, bool]
) -> None:
    found = architecture(arch).rings[core_type]

    assert (found.base, found.size_bytes, found.has_code) == ring
    assert architecture(arch).ring_base(core_type) == ring[0]
    assert architecture(arch).ring_bytes(core_type) == ring[1]


def test_a_core_that_an_architecture_lacks_has_no_ring() -> None:
    assert architecture(WORMHOLE).ring_bytes(CoreType.DRAM) == 0
    assert architecture(WORMHOLE).ring_base(CoreType.DRAM) is None


def test_code_of_active_ethernet_cores_on_wormhole_lies_beside_the_ring() -> None:
    ring = architecture(WORMHOLE).rings[CoreType.ACTIVE_ETH]

    assert (ring.code_base, ring.code_bytes) == (0xA840, 26_560)


def test_where_ethernet_rings_begin_in_the_source_build_is_unknown() -> None:
    assert architecture(WORMHOLE, "source").ring_base(CoreType.IDLE_ETH) is None


@pytest.mark.parametrize(("arch", "block_count"), [(WORMHOLE, 32_768), (BLACKHOLE, 16_384)])
def test_the_prefetcher_cache_is_cut_into_blocks_of_the_dram_alignment(arch: str, block_count: int) -> None:
    silicon = architecture(arch)

    assert silicon.prefetcher_cache_bytes[DispatchCores.TENSIX] // silicon.dram_alignment == block_count
    assert silicon.prefetcher_cache_bytes[DispatchCores.ETHERNET] == 67 * 1024


@pytest.mark.parametrize(
    ("arch", "worker_l1_bytes", "ring_bytes"),
    [
        (WORMHOLE, 1_393_312, 70_656),
        (WORMHOLE, 1_400_000, 63_968),
        (WORMHOLE, 1_399_999, 64_000),
        (BLACKHOLE, 0, 1_531_776),
    ],
)
def test_more_memory_for_buffers_leaves_a_smaller_ring(arch: str, worker_l1_bytes: int, ring_bytes: int) -> None:
    silicon = architecture(arch).with_worker_l1(worker_l1_bytes)

    assert silicon.ring_bytes() == ring_bytes
    assert silicon.l1_unreserved_base + silicon.l1_bank_bytes == silicon.l1_bytes
    assert silicon.kernel_config_base == architecture(arch).kernel_config_base


@pytest.mark.parametrize("worker_l1_bytes", [-1000, 1_463_969, 1_499_136])
def test_a_share_of_l1_that_leaves_no_room_for_firmware_is_refused(worker_l1_bytes: int) -> None:
    with pytest.raises(UnknownHardware, match="within 0 and 1463968"):
        architecture(WORMHOLE).with_worker_l1(worker_l1_bytes)


def test_what_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(UnknownHardware, match="wormhole_b0, blackhole"):
        architecture("grayskull")
    with pytest.raises(UnknownHardware, match=r"0\.81\.1, source"):
        architecture(WORMHOLE, "0.1")


def test_an_architecture_does_not_change() -> None:
    for field in fields(Architecture):
        with pytest.raises(AttributeError):
            setattr(architecture(WORMHOLE), field.name, None)
