"""The many forms of `ttmem ps`, which is also `ttmem` without a verb: what can be asked, and how it is answered."""
