"""How roles look on a terminal: dark, light, or without colours at all."""

from functools import lru_cache

from rich.console import Console
from rich.style import Style

from ttmem.view.colours import BACKGROUNDS, PALETTE
from ttmem.view.spans import Role

__all__ = ["Codes", "Theme", "codes", "theme"]

Theme = dict[Role, Style]
Codes = dict[Role, str]


@lru_cache(maxsize=4)
def theme(*, is_light: bool, has_colour: bool) -> Theme:
    """The style of each role."""
    return {role: _style(role, is_light=is_light) if has_colour else _colourless(role) for role in Role}


def codes(theme: Theme, console: Console) -> Codes:
    """What a terminal is told before a text of each role, whatever it was told before."""
    return {role: _code(style.render("x", color_system=console._color_system)) for role, style in theme.items()}


def _code(drawn: str) -> str:
    """From an x as it is drawn in a style."""
    told = drawn.partition("x")[0]
    return f"\x1b[0;{told[2:]}" if told else "\x1b[0m"


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
