"""The CodeBuild builds of an environment: what they build from, how they run, what they leave in the lock, where it is promoted."""
