"""Container images on this machine: ECR, and the `docker` and `aws` that a build calls."""
