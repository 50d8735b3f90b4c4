"""Models with random weights, written by hand: tiny ones for tests, those of published shapes."""
