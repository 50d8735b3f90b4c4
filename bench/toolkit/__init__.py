"""How fast the toolkit itself is: packing a model, synthesising the stacks."""
