"""Questions in, results out: what is asked of the model, in whose turn, and what its logits mean."""
