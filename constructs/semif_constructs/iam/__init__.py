"""Who may read the images, and the findings of cdk-nag that are acknowledged with a reason."""
