"""Where SageMaker's SDK keeps its tables: to import it takes 3 CPU seconds."""

from importlib.metadata import distribution
from pathlib import Path

IMAGE_URI_CONFIG = Path(str(distribution("sagemaker-core").locate_file("sagemaker/core/image_uri_config")))
"""A file for each framework: its versions, and the registry of each region."""
