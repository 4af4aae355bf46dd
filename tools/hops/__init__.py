"""How far a figure travels: counted, so that anybody gets the same numbers. `./run hops` prints them."""
