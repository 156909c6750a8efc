"""What a recipe adds and checks is there in its copy of the package alone."""

collect_ignore = ["new", "checks"]
