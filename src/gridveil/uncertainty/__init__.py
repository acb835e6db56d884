"""Error models of releases: standard errors and intervals of boxes, areas, schedules and all cells at once."""
