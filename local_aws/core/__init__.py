"""What all services here stand on: processes, logs, addresses, the HTTP side."""
