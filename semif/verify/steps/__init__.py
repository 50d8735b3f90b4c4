"""What each step of a verification does: of an endpoint, its changes, some settings, and background work."""
