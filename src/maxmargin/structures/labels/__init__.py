"""Label sets: any number of labels per example."""
