"""Where requests go: an endpoint of SageMaker, or an address. The client opens one of the two."""
