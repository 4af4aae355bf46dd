"""What does not add up on a chip, in sentences."""

from tests.support.simulated.overviews import a_device_usage
from ttmem.collector.rows.snapshots import chip_findings
from ttmem.snapshot import replace


def test_a_core_that_is_more_than_full_is_a_finding() -> None:
    usage = replace(a_device_usage(3), fullest_core_bytes=1001, core_bytes=1000)

    [finding] = chip_findings([(usage, None)])
    full = list(chip_findings([(replace(usage, fullest_core_bytes=1000), None)]))

    assert finding.name == "over_capacity"
    assert finding.text == "device 3: 1,001 bytes of its fullest core are reported, a core has 1,000"
    assert full == []
    assert usage.fullest_core_share is not None
    assert usage.fullest_core_share > 1
