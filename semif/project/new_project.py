"""A project of one's own: the files that a team keeps, for the toolkit that is installed."""

import json
from importlib.metadata import distribution
from pathlib import Path

from semif.project.root import toolkit_root
from semif.project.whole_files import write_whole

_TEMPLATE = Path(__file__).parent / "template"
_COPIED = (
    ".npmrc",
    "adapter_image/dlc.toml",
    "environments/*.toml",
    "environments/environment.schema.json",
    "examples/*.json",
    "models/*.toml",
    "package-lock.json",
    "package.json",
)
_APP = "python -m semif.deployment.app"
"""The toolkit's CDK app, which is in no folder of the project."""
_EXTRAS = "demo,deploy,evaluate"


def project_files() -> dict[str, bytes]:
    """The contents of a new project, by their paths in it."""
    toolkit = toolkit_root()
    copied = {
        path.relative_to(toolkit).as_posix(): path.read_bytes()
        for pattern in _COPIED
        for path in sorted(toolkit.glob(pattern))
    }
    settings = json.loads((toolkit / "cdk.json").read_bytes()) | {"app": _APP}
    own = {
        ".github/workflows/semif.yml": (_TEMPLATE / "semif.yml").read_bytes(),
        ".gitignore": (_TEMPLATE / "gitignore").read_bytes(),
        "README.md": (_TEMPLATE / "README.md").read_bytes(),
        "cdk.json": (json.dumps(settings, indent=2) + "\n").encode(),
        "requirements.txt": _requirement().encode(),
    }
    return dict(sorted({**copied, **own}.items()))


def _requirement() -> str:
    """The toolkit as it was installed here: from an index, or from a commit (PEP 610, direct_url.json).

    What came from this machine's files has no place that others can take it from: a comment says so, since
    the name alone may be somebody else's on an index.
    """
    semif, name = distribution("semif"), f"semif[{_EXTRAS}]"
    origin = semif.read_text("direct_url.json")
    if origin is None:
        return f"{name}=={semif.version}\n"
    told = json.loads(origin)
    if version_control := told.get("vcs_info"):
        return f"{name} @ {version_control['vcs']}+{told['url']}@{version_control['commit_id']}\n"
    return (
        "# Semif was installed from files of this machine. Say where others take it from: an index of\n"
        f"# yours, or a commit of its repository:\n# {name} @ git+https://HOST/OWNER/REPOSITORY@COMMIT\n"
    )


def write_project(folder: Path) -> tuple[list[str], list[str]]:
    """Write a project's files into `folder`, made where it is missing; what is there stays as it is.

    Returns the paths that were written, and those whose file is another than this toolkit's. Raises
    SemifError where one cannot be written.
    """
    written, kept = [], []
    for name, content in project_files().items():
        path = folder / name
        if path.exists():
            if path.is_dir() or path.read_bytes() != content:
                kept.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        written.append(name)
    return written, kept
