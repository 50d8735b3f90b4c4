"""Who may pull images, write logs and use keys; findings of cdk-nag that are accepted with a reason."""
