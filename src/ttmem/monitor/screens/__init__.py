"""What each view of the monitor draws: plain functions from a frame to lines. Nothing here knows the toolkit."""
