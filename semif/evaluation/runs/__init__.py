"""What came of it: a run's file, its header and its answers."""
