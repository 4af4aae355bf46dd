"""Where a benchmark takes place: the built programs, private directories, and the other processes that take part."""
