"""An AWS on this machine, for the demo and the end-to-end tests: moto's server, extended."""
