"""Where consumption is published: grids, coordinate systems, areas and outlines."""
