"""What container, toolkit and client agree on: the wire, the settings, the errors, the names of figures."""
