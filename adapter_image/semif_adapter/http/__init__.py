"""The wire: sockets, routes, bounds and replies."""
