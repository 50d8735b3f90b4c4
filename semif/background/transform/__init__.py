"""Files of decisions through SageMaker's Batch Transform: environments of mode batch, and `semif batch`."""
