"""python -m tools.site [DIRECTORY]: makes the site, in build/site or in DIRECTORY."""

import sys
from pathlib import Path

from tools.site.build import Refused, build
from tools.site.pages import ROOT


def main() -> int:
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    try:
        count = build(place.absolute())
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print(f"{count} pages; open file://{place.absolute()}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
