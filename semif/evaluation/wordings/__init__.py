"""Several ways to ask the same labelled tasks: which words a model understands."""
