"""Where models and images are built and kept: the bucket, the ECR repository, the CodeBuild projects."""
