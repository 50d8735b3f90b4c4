"""The tables of an environment file, as types: each table and key by itself."""
