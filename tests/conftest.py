"""What all tests share, and how they are dealt out to the workers of `make test`."""

from hypothesis import HealthCheck, settings

pytest_plugins = (
    "tests.support.session.programs",
    "tests.support.session.leftovers",
    "tests.support.session.garbage",
    "tests.support.environments",
    "tests.support.models.engines",
    "tests.support.models.gguf_files",
    "tests.support.pages.browser",
    "tests.support.servers.local_aws",
    "tests.support.servers.sagemaker_stand_in",
    "tests.support.servers.serving",
    "tests.support.session.workers",
)

# How long an example takes on a busy machine says nothing about the code.
settings.register_profile("semif", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("semif")
