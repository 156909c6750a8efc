"""Rankings: the documents of a query in order."""
