"""Parts of the charts: the plot of a series, the axis of time, and where the panels go."""
