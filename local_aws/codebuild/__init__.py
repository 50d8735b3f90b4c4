"""CodeBuild on this machine: buildspecs run by a real shell."""
