"""Files of an evaluation: labelled tasks going in, a run's answers coming out."""
