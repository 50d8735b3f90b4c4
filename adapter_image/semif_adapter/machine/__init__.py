"""The processors and the memory that this container may use."""
