"""The CDK's CLI, the real one, acts in the account that boto3 has looked at, or not at all.

STS is a server here that knows an account by the key that a request is signed with.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from semif.deployment.cdk import CdkError
from semif.deployment.stages import deploy_artifacts
from semif.deployment.target_cdk import run_for
from semif.project.root import project_root
from semif.target.target import Target, open_target
from tests.support.servers.running import running

OF_SHELL, OF_PROFILE, OF_ROLE = "111111111111", "222222222222", "333333333333"
PROFILE = {"AWS_PROFILE": "other"}
OF_THE_CDK = {"AMAZON_ACCESS_KEY_ID": "AKIASHELL", "AMAZON_SECRET_ACCESS_KEY": "secret"}
ACCOUNTS = {"AKIASHELL": OF_SHELL, "AKIAPROFILE": OF_PROFILE, "AKIAROLE": OF_ROLE}
SHELL = {"AWS_ACCESS_KEY_ID": "AKIASHELL", "AWS_SECRET_ACCESS_KEY": "secret"}
PROFILES = """
[profile other]
aws_access_key_id = AKIAPROFILE
aws_secret_access_key = secret
[profile shell]
aws_access_key_id = AKIASHELL
aws_secret_access_key = secret
[profile role]
role_arn = arn:aws:iam::333333333333:role/deployer
credential_source = Environment
"""
REPLY = (
    '<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{0}Result>{1}</{0}Result></{0}Response>'
)
IDENTITY = "<Arn>arn:aws:iam::{0}:user/u</Arn><UserId>u</UserId><Account>{0}</Account>"
ROLE = (
    "<Credentials><AccessKeyId>AKIAROLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>"
    "<SessionToken>token</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>"
)
APP = """
import json, os, pathlib
asked = json.loads(os.environ["CDK_CONTEXT_JSON"])
print("the CLI is in", os.environ["CDK_DEFAULT_ACCOUNT"])
stack = {
    "type": "aws:cloudformation:stack",
    "environment": f"aws://{asked.get('account', os.environ['CDK_DEFAULT_ACCOUNT'])}/eu-central-1",
    "properties": {"templateFile": "S.template.json"},
}
out = pathlib.Path(os.environ["CDK_OUTDIR"])
out.mkdir(exist_ok=True)
name = "Semif-dev-Artifacts"
(out / "S.template.json").write_text("{}")
(out / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": {name: stack}}))
"""
"""As little of a CDK app as the CLI takes for one, with the account as ours takes it; it tells the CLI's."""


class Sts(ThreadingHTTPServer):
    """Says whose key a request is signed with, and gives the role to whoever has a key or a token.

    All else is refused, other services too.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        signed = re.search(r"Credential=(\w+)/", self.headers.get("Authorization", ""))
        account = ACCOUNTS.get(signed[1]) if signed else None
        (action,) = form.get("Action", ["of another service"])
        result = IDENTITY.format(account) if action == "GetCallerIdentity" else ROLE
        body = REPLY.format(action, result).encode()
        self.send_response(200 if "Action" in form and (account or "WebIdentityToken" in form) else 403)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def target_in(
    no_access: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[dict[str, str], str | None], Target]]:
    """A target as a command opens it, in a shell with these variables, of which nothing is made."""

    def opened(variables: dict[str, str], profile: str | None) -> Target:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        target = open_target("dev", on_this_machine=False, profile=profile)
        return replace(target, root=tmp_path)

    (tmp_path / "config").write_text(PROFILES)
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "node_modules").symlink_to(project_root() / "node_modules")
    (tmp_path / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}))
    with running(Sts()) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_REGION", "eu-central-1")
        yield opened


@pytest.mark.parametrize(
    ("variables", "profile", "account"),
    [
        (SHELL, None, OF_SHELL),
        (SHELL, "other", OF_PROFILE),
        ({**SHELL, "AWS_SESSION_TOKEN": "token"}, "other", OF_PROFILE),
        (SHELL, "role", OF_ROLE),
        ({**SHELL, **PROFILE}, None, OF_SHELL),
        (PROFILE, None, OF_PROFILE),
        ({**OF_THE_CDK, **PROFILE}, None, OF_PROFILE),
        ({"AWS_PROFILE": "shell", "AWS_DEFAULT_PROFILE": "other"}, None, OF_PROFILE),
    ],
)
def test_the_cli_is_in_the_account_that_was_looked_at(
    target_in: Callable[[dict[str, str], str | None], Target],
    variables: dict[str, str],
    profile: str | None,
    account: str,
) -> None:
    target = target_in(variables, profile)
    assert target.account == account
    assert f"the CLI is in {account}" in run_for(target, ["synth"], lambda _: None)


def test_where_they_differ_all_the_same_nothing_is_deployed(
    target_in: Callable[[dict[str, str], str | None], Target], tmp_path: Path
) -> None:
    """A web identity in the environment counts more than the profile there, but for the CLI less."""
    (tmp_path / "token").write_text("token")
    variables = {
        "AWS_PROFILE": "shell",
        "AWS_ROLE_ARN": f"arn:aws:iam::{OF_ROLE}:role/deployer",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
    }
    target = target_in(variables, None)
    assert target.account == OF_ROLE
    refusal = f"calls for account {OF_ROLE}, but the current credentials are for {OF_SHELL}"
    with pytest.raises(CdkError, match=refusal):
        deploy_artifacts(target, lambda _: None)
