"""The programs that `make setup` installed, for tests and what they start: pytest may be run without make."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# Here and not in a hook: pytest imports the folders' conftest files before it calls any, and the import of the CDK
# starts the first `node` of PATH.
os.environ["PATH"] = os.pathsep.join(
    map(
        str, (Path(sys.executable).parent, ROOT / "node_modules" / ".bin", os.environ.get("PATH", os.defpath))
    )
)
