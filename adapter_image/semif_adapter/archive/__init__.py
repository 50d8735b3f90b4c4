"""The files of a model archive beside the weights: the manifest, the calibration, the prompt's version."""
