"""States of solvers that come out of a file, checked before they run."""
