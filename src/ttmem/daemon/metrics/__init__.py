"""The page of /metrics: figures of an overview, and sums that never fall, in the words of Prometheus."""
