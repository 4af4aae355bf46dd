"""How roles look on a terminal: dark, light, or without colours at all."""

from functools import lru_cache

from rich.style import Style

from ttmem.view.colours import BACKGROUNDS, PALETTE
from ttmem.view.spans import Role

__all__ = ["Theme", "theme"]

Theme = dict[Role, Style]


@lru_cache(maxsize=4)
def theme(*, is_light: bool, has_colour: bool) -> Theme:
    """The style of each role."""
    return {role: _style(role, is_light=is_light) if has_colour else _colourless(role) for role in Role}


def _style(role: Role, *, is_light: bool) -> Style:
    colour = PALETTE[role]
    background = BACKGROUNDS[role is Role.SELECTED]
    return Style(
        color=colour.light if is_light else colour.rgb,
        bgcolor=background.light if is_light else background.rgb,
        bold=colour.is_bold or None,
    )


def _colourless(role: Role) -> Style:
    return Style(
        bold=PALETTE[role].is_bold or None,
        reverse=(role is Role.SELECTED) or None,
        dim=(role in (Role.DIM, Role.LOST, Role.BAR_REST)) or None,
    )
