"""What answers are worth, as numbers: measures, a run's summary, what is right where, comparisons."""
