"""The names of contenders, and what is wanted of them."""

ENGINE = "semif engine"
JOINED = "semif engine, joined"
FULL = "full prompt"
RESTORE = "state restore"
LIMIT = "the limit"
SERVER = "semif"
NO_TURNS = "semif, without turns"
BEST = "llama-server best"
DEFAULT = "llama-server default"
DEFAULT_AT_ONCE = "llama-server default, at once"
LOAD = "W4 many clients"
THROUGHPUT_WANTED = 0.95
"""Of many clients at once, of that of the same requests one after another."""
P95_WANTED = 3.0
"""How many times as long a short decision's p95 beside long ones is without turns."""
