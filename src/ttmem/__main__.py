"""`python -m ttmem`: the same program as `ttmem`."""

from ttmem.cli import main

if __name__ == "__main__":
    main()
