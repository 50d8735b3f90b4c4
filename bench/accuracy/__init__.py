"""How many labelled tasks a model gets right, by readout, layout and rotation."""
