"""The hosts of models: processes that stand in for containers, with their model data and their programs."""
