"""CodeBuild: projects, and builds that really run their buildspec's commands on this machine."""

import threading
import uuid
from datetime import UTC, datetime

from local_aws.codebuild.build import LocalBuild
from local_aws.core.api import ApiError, Operation, Params
from local_aws.core.context import LocalContext
from local_aws.images.container_engine import ContainerEngine

DEFAULT_TIMEOUT_MINUTES = 60


class CodeBuild:
    """The operations of CodeBuild, under botocore's names and shapes."""

    def __init__(self, context: LocalContext, engine: ContainerEngine) -> None:
        self._context = context
        self._engine = engine
        self._projects: dict[str, Params] = {}
        self._builds: dict[str, LocalBuild] = {}
        self._lock = threading.Lock()

    def operations(self) -> dict[str, Operation]:
        """Every operation that is served here instead of in moto."""
        return {
            "CreateProject": self.create_project,
            "UpdateProject": self.update_project,
            "BatchGetProjects": self.batch_get_projects,
            "ListProjects": lambda _: {"projects": sorted(self._projects)},
            "DeleteProject": self.delete_project,
            "StartBuild": self.start_build,
            "StopBuild": self.stop_build,
            "BatchGetBuilds": self.batch_get_builds,
            "ListBuilds": lambda _: {"ids": list(reversed(self._builds))},
            "ListBuildsForProject": self.list_builds_for_project,
        }

    def create_project(self, params: Params) -> Params:
        """Keep a project; nothing of it is checked before a build starts."""
        name = params["name"]
        if name in self._projects:
            raise ApiError("ResourceAlreadyExistsException", f"Project already exists: {self._arn(name)}")
        now = datetime.now(UTC)
        self._projects[name] = {
            "timeoutInMinutes": DEFAULT_TIMEOUT_MINUTES,
            **_settings(params),
            "arn": self._arn(name),
            "created": now,
            "lastModified": now,
        }
        return {"project": self._projects[name]}

    def update_project(self, params: Params) -> Params:
        """Overwrite the given settings of a project."""
        project = self._project(params["name"])
        project.update(_settings(params), lastModified=datetime.now(UTC))
        return {"project": project}

    def batch_get_projects(self, params: Params) -> Params:
        """The projects of these names or ARNs, and which of them there are none."""
        wanted = {name: name.rpartition("project/")[2] for name in params["names"]}
        projects = [self._projects[name] for name in wanted.values() if name in self._projects]
        missing = [name_or_arn for name_or_arn, name in wanted.items() if name not in self._projects]
        return {"projects": projects} | ({"projectsNotFound": missing} if missing else {})

    def delete_project(self, params: Params) -> Params:
        """Forget a project; its builds stay, as in CodeBuild."""
        self._projects.pop(params["name"], None)
        return {}

    def start_build(self, params: Params) -> Params:
        """Start a build in the background."""
        project = self._project(params["projectName"])
        with self._lock:
            number = 1 + sum(build.project == project["name"] for build in self._builds.values())
            build = LocalBuild(
                self._context, self._engine, _with_overrides(project, params), uuid.uuid4(), number
            )
            self._builds[build.id] = build
        build.start()
        return {"build": build.describe()}

    def stop_build(self, params: Params) -> Params:
        """End a running build with the status STOPPED."""
        build = self._builds.get(params["id"])
        if build is None:
            raise ApiError("ResourceNotFoundException", f"Build {params['id']} does not exist")
        build.stop("STOPPED")
        return {"build": build.describe()}

    def batch_get_builds(self, params: Params) -> Params:
        """How far the builds of these ids are."""
        ids = params["ids"]
        builds = [self._builds[one].describe() for one in ids if one in self._builds]
        missing = [one for one in ids if one not in self._builds]
        return {"builds": builds} | ({"buildsNotFound": missing} if missing else {})

    def list_builds_for_project(self, params: Params) -> Params:
        """The ids of a project's builds, newest first."""
        name = params["projectName"]
        return {"ids": [build.id for build in reversed(self._builds.values()) if build.project == name]}

    def _project(self, name: str) -> Params:
        try:
            return self._projects[name]
        except KeyError:
            raise ApiError(
                "ResourceNotFoundException", f"Project cannot be found: {self._arn(name)}"
            ) from None

    def _arn(self, name: str) -> str:
        return self._context.arn("codebuild", f"project/{name}")


def _settings(params: Params) -> Params:
    """What a project keeps of a request; it tells of its badge in another shape than it is asked for."""
    return {name: value for name, value in params.items() if name != "badgeEnabled"}


_OVERRIDES = {
    "sourceTypeOverride": ("source", "type"),
    "sourceLocationOverride": ("source", "location"),
    "buildspecOverride": ("source", "buildspec"),
    "privilegedModeOverride": ("environment", "privilegedMode"),
    "imageOverride": ("environment", "image"),
    "computeTypeOverride": ("environment", "computeType"),
    "environmentTypeOverride": ("environment", "type"),
}
_OWN_MEMBERS = {"projectName", "environmentVariablesOverride", "timeoutInMinutesOverride", "idempotencyToken"}


def _with_overrides(project: Params, request: Params) -> Params:
    """The project as this one build sees it; raises ApiError for an override that has no meaning here."""
    unknown = sorted(set(request) - set(_OVERRIDES) - _OWN_MEMBERS)
    if unknown:
        raise ApiError("InvalidInputException", f"the local AWS does not support {', '.join(unknown)}")
    seen = project | {part: dict(project[part]) for part in ("source", "environment")}
    for override, (part, member) in _OVERRIDES.items():
        if override in request:
            seen[part][member] = request[override]
    variables = {one["name"]: one for one in project["environment"].get("environmentVariables", [])}
    variables |= {one["name"]: one for one in request.get("environmentVariablesOverride", [])}
    seen["environment"]["environmentVariables"] = list(variables.values())
    seen["timeoutInMinutes"] = request.get("timeoutInMinutesOverride", project["timeoutInMinutes"])
    return seen
