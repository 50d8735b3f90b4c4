"""An environment onto AWS: the stages of a deployment, followed, sized and taken back."""
