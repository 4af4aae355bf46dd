"""What `ttmem demo` is made of: the process that plays a workload, and its watcher."""
