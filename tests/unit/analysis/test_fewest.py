"""The fewest buffers to free, against all sets of buffers tried one by one."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ttmem.analysis.fewest import Addresses, TakenBlock, fewest, fewest_on_all, holes

END = 16


def lines(owners: int = 6) -> st.SearchStrategy[Addresses]:
    """Addresses 0 to 16 with up to seven blocks; owners may have several, which may overlap those of others."""
    owner = st.sampled_from([None, *range(owners)])
    blocks = st.lists(st.tuples(st.integers(0, END - 1), st.integers(1, 5), owner), max_size=7)
    return blocks.map(
        lambda found: Addresses(0, END, [TakenBlock(at, min(END, at + size), who) for at, size, who in found])
    )


def has_room(span: Addresses, needed: int, freed: frozenset[int]) -> bool:
    """Address by address, without any of the code that is tested."""
    taken = 0
    for block in span.blocks:
        if block.owner not in freed:
            taken |= (1 << block.end) - (1 << block.begin)
    return any(not taken & ((1 << start + needed) - (1 << start)) for start in range(END - needed + 1))


def tried(spans: list[Addresses], needed: int, sizes: dict[int, int]) -> tuple[list[frozenset[int]], int | None]:
    """All smallest sets, and the bytes of the cheapest of them."""
    for count in range(len(sizes) + 1):
        found = [
            frozenset(some)
            for some in combinations(sizes, count)
            if all(has_room(span, needed, frozenset(some)) for span in spans)
        ]
        if found:
            return found, min(sum(sizes[owner] for owner in some) for some in found)
    return [], None


@given(lines(), st.integers(1, END), st.lists(st.integers(1, 9), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_on_one_line_no_smaller_set_and_none_of_fewer_bytes_will_do(
    span: Addresses, needed: int, weights: list[int]
) -> None:
    sizes = dict(enumerate(weights))
    sets, cheapest = tried([span], needed, sizes)

    found = fewest(span, needed, sizes)

    if found is None:
        assert sets == []
    else:
        assert found.owners in sets
        assert sum(sizes[owner] for owner in found.owners) == cheapest
        assert found.choice_count <= len(sets)


@given(
    st.lists(lines(owners=4), min_size=2, max_size=3),
    st.integers(1, END),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_on_several_lines_the_set_makes_room_on_all_of_them(
    spans: list[Addresses], needed: int, weights: list[int]
) -> None:
    sizes = dict(enumerate(weights))
    sets, cheapest = tried(spans, needed, sizes)

    found = fewest_on_all(spans, needed, sizes)

    if found is None:
        assert sets == []
    else:
        assert found.is_least
        assert found.owners in sets
        assert sum(sizes[owner] for owner in found.owners) == cheapest


@given(lines(), st.frozensets(st.integers(0, 5)))
@settings(max_examples=50, deadline=None)
def test_holes_are_the_addresses_that_are_not_taken(span: Addresses, freed: frozenset[int]) -> None:
    found = holes(span, freed)

    free = {address for begin, end in found for address in range(begin, end)}
    taken = {address for block in span.blocks if block.owner not in freed for address in range(block.begin, block.end)}
    assert free == set(range(END)) - taken
    assert all(end < begin for (_, end), (begin, _) in pairwise(found))


def test_among_thousands_of_buffers_the_set_is_the_smallest() -> None:
    """Each of 9 bytes with a hole of one between: k of them open 10 k + 1."""
    blocks = [TakenBlock(number * 10, number * 10 + 9, number) for number in range(4096)]
    found = fewest(Addresses(0, 40_960, blocks), 35, dict.fromkeys(range(4096), 9))

    assert found is not None
    assert len(found.owners) == 4


def cores_with_eight_ways(count: int, *, shared: int | None) -> tuple[list[Addresses], dict[int, int]]:
    """Eight buffers on each core, the first of which may be one that all cores have."""
    spans: list[Addresses] = []
    sizes: dict[int, int] = {}
    for core in range(count):
        owners = [core * 100 + at if at or shared is None else shared for at in range(8)]
        spans.append(Addresses(0, 80, [TakenBlock(at * 10, at * 10 + 10, owner) for at, owner in enumerate(owners)]))
        sizes |= {owner: 1 + (owner * 7 + core) % 5 for owner in owners}
    return spans, sizes


def test_too_many_combinations_are_said_to_be_too_many() -> None:
    """Eight cores with eight ways each that depend on each other."""
    spans, sizes = cores_with_eight_ways(8, shared=10_000)

    found = fewest_on_all(spans, 20, sizes)

    assert found is not None
    assert not found.is_least
    assert len(found.owners) >= 9


def test_cores_that_have_no_buffer_in_common_are_answered_exactly_however_many_they_are() -> None:
    spans, sizes = cores_with_eight_ways(64, shared=None)

    found = fewest_on_all(spans, 20, sizes)

    assert found is not None
    assert found.is_least
    assert len(found.owners) == 2 * 64
    each = [fewest(span, 20, sizes) for span in spans]
    assert found.owners == frozenset(owner for one in each if one is not None for owner in one.owners)
