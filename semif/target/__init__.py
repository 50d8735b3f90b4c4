"""One environment in one AWS: which account, which region, which endpoint in which state."""
