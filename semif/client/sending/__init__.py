"""How bytes travel: HTTP on an event loop of a client's own, signed by botocore where AWS is asked."""
