"""`environments/*.lock.json`: the pins that builds produced, read and checked."""
