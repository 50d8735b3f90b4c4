"""Calibration: temperatures and thresholds from answers to labelled tasks. See docs/calibration.md."""
