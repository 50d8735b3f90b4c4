"""What answers: the model, the endpoint in each of its modes, its scaling and its updates."""
