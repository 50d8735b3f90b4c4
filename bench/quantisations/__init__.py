"""How fast this processor reads a prompt with weights of each type."""
