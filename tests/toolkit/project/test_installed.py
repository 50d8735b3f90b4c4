"""The toolkit as it is installed from its wheel, in an empty folder and in a project of `semif init`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from click.testing import CliRunner

from semif.builds.sources import IMAGE_SOURCES, MODEL_SOURCES, pack_sources
from semif.cli import COMMANDS, main
from semif.project.new_project import project_files
from semif.project.root import project_root


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked: before the checkout on the path of whoever is given it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=project_root(), check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def project(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects")
    begun = run(installed, folder, "-m", "semif", "init", "decisions", "--json")
    assert begun.returncode == 0, begun.stderr
    told = json.loads(begun.stdout)
    assert (told["kept"], told["written"]) == ([], sorted(project_files()))
    return folder / "decisions"


def test_the_wheel_has_at_its_top_what_programs_import(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert packages == {"semif", "semif_adapter", "semif_constructs"}


def test_an_empty_folder_has_the_presets_but_no_environments(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "-m", "semif", "model", "list", "--json")
    names = [preset["name"] for preset in json.loads(listed.stdout)["presets"]]
    assert names == sorted(path.stem for path in (project_root() / "models").glob("*.toml"))
    checked = run(installed, tmp_path, "-m", "semif", "env", "check")
    assert checked.returncode == 1
    assert "begin a project with `semif init`" in checked.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_installed_is_named_with_its_extra(installed: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text("import sys\nsys.modules['xllamacpp'] = None\n")
    served = run(
        installed, tmp_path, "-m", "semif", "serve", "embedded", PYTHONPATH=f"{tmp_path}:{installed}"
    )
    assert served.returncode == 1
    assert "-m pip install 'semif[serve]'" in served.stderr


def test_a_begun_project_is_checked_and_synthesised(installed: Path, project: Path) -> None:
    checked = run(installed, project, "-m", "semif", "env", "check")
    assert checked.returncode == 0, checked.stderr
    app = json.loads((project / "cdk.json").read_text())["app"].split()[1:]
    context = json.dumps({"env": "dev", "stage": "artifacts"})
    synthesised = run(
        installed,
        project,
        *app,
        CDK_OUTDIR=str(project / "out"),
        CDK_CONTEXT_JSON=context,
        CDK_VALIDATION="false",
    )
    assert synthesised.returncode == 0, synthesised.stderr
    assert (project / "out" / "Semif-dev-Artifacts.template.json").is_file()


def test_a_begun_project_builds_from_the_checkouts_bytes(installed: Path, project: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from semif.builds.sources import *;"
        "print(*(pack_sources(Path(), globs).sha256 for globs in (IMAGE_SOURCES, MODEL_SOURCES)))"
    )
    packed = run(installed, project, "-c", program)
    here = [pack_sources(project_root(), globs).sha256 for globs in (IMAGE_SOURCES, MODEL_SOURCES)]
    assert packed.stdout.split() == here, packed.stderr


def test_a_second_init_keeps_what_the_team_changed(installed: Path, project: Path) -> None:
    mine = project / "environments" / "dev.toml"
    before = mine.read_bytes()
    mine.write_text("# ours\n")
    again = run(installed, project, "-m", "semif", "init", "--json")
    assert json.loads(again.stdout)["kept"] == ["environments/dev.toml"]
    assert mine.read_text() == "# ours\n"
    mine.write_bytes(before)


@pytest.mark.parametrize(
    ("origin", "required"),
    [
        (None, "semif[demo,deploy,evaluate]==0.1.0"),
        (
            {"url": "https://example.com/semif", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "semif[demo,deploy,evaluate] @ git+https://example.com/semif@c0ffee",
        ),
        ({"url": "file:///home/me/semif", "dir_info": {"editable": True}}, None),
    ],
)
def test_a_project_requires_the_toolkit_from_where_it_came(
    installed: Path, tmp_path: Path, origin: object, required: str | None
) -> None:
    """By its name alone, which may be somebody else's, only what came from an index."""
    (told,) = installed.glob("*.dist-info")
    site = tmp_path / "site"
    site.mkdir()
    (site / "semif").symlink_to(installed / "semif")
    shutil.copytree(told, site / told.name)
    if origin is not None:
        (site / told.name / "direct_url.json").write_text(json.dumps(origin))
    program = (
        "from semif.project.new_project import project_files;"
        "print(project_files()['requirements.txt'].decode())"
    )
    lines = run(site, tmp_path, "-c", program, PYTHONPATH=f"{site}:{installed}").stdout.split("\n")
    assert [line for line in lines if line and not line.startswith("#")] == ([required] if required else [])


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file\n")
    told = CliRunner().invoke(main, ["init", str(tmp_path)])
    assert told.exit_code == 1
    assert "models" in told.output
    assert "Traceback" not in told.output


def test_the_workflow_calls_what_is_there() -> None:
    jobs = yaml.safe_load(project_files()[".github/workflows/semif.yml"])["jobs"]
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    called = [line.split()[1] for line in lines if line.startswith("semif ")]
    assert called == ["env", "env", "deploy"]
    assert set(called) <= set(COMMANDS)
