"""Where the time of a decision goes."""
