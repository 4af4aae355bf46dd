"""The rows of a page, subject by subject: the daemon, chips, programs, what happened, workloads, other names."""
