"""The tests: a package, lest another of this name that is installed be found in its place."""
