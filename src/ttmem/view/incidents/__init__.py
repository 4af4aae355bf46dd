"""Incidents as people read them: the short block of `ttmem run`, and the whole story of `ttmem explain`."""

from ttmem.view.incidents.block import incident_block
from ttmem.view.incidents.story import incident_story
from ttmem.view.incidents.words import headline, incident_title, site_text

__all__ = ["headline", "incident_block", "incident_story", "incident_title", "site_text"]
