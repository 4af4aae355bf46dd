"""The pages of answers about room: each module shows what its namesake in `analysis.room` says."""

from ttmem.view.pages.room.advice import advice_page
from ttmem.view.pages.room.cores import cores_page
from ttmem.view.pages.room.floor import floor_page, headroom_page
from ttmem.view.pages.room.holes import holes_page
from ttmem.view.pages.room.traces import traces_page

__all__ = ["advice_page", "cores_page", "floor_page", "headroom_page", "holes_page", "traces_page"]
