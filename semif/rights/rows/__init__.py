"""The rows of the table of rights, by what is being done when they are needed."""
