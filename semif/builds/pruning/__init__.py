"""What lies in an environment's bucket and repository and nothing names any more: found, told, deleted."""
