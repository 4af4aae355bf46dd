"""What the map of a chip is made of: a bar to scale, a list of addresses, and the grid of its cores."""
