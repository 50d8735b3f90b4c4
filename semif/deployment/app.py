"""`python -m semif.deployment.app`: the toolkit's CDK app for a project that has no copy of it (cdk.json)."""

import runpy
import sys

from semif.project.root import how_to_install, toolkit_root

if __name__ == "__main__":
    sys.path.insert(0, str(toolkit_root()))
    try:
        runpy.run_module("cdk_app.app", run_name="__main__", alter_sys=True)
    except ModuleNotFoundError as error:
        sys.exit(f"semif: {error.name} is not installed; run {how_to_install('deploy')}")
