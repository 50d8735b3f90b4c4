"""From a preset to a model archive that an endpoint can be created from."""
