"""Models of many files over two repositories: a checkpoint of Strands Decider, and its base model."""
