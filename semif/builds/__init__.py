"""The CodeBuild builds of an environment: their sources, how they run, their lock, promotion, pruning."""
