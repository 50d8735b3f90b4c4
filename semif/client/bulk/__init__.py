"""Many decisions with one pace: as many at once as the server has room for."""
