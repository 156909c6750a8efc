"""Task losses of hierarchies, which look at the nodes of labels."""
