"""Environments with what an account has already, with an end and with a budget: their files, by name."""

from pathlib import Path

from tests.infra.matrix import BOUNDARY, ENCRYPTION, TOPIC_ARN, write_project

ROLE_ARN = "arn:aws:iam::111122223333:role/platform/hosting"
BUCKET, FILES_BUCKET = "our-models", "our-requests"
HEAD = f'''removal = "destroy"
account = "111122223333"
region = "eu-central-1"
bootstrap_qualifier = "platform"
permissions_boundary = "{BOUNDARY}"
'''
EXISTING = f'''[existing]
role_arn = "{ROLE_ARN}"
bucket = "{BUCKET}"
'''
EMBEDDED = '[model]\npreset = "embedded"\n'
SCALED = """[scaling]
min_instance_count = 1
max_instance_count = 3
"""

ACCOUNT_CASES = {
    "existing-cpu": f"""kind = "decision"
{HEAD}{EMBEDDED}[endpoint]
instance_type = "ml.c6i.xlarge"
endpoint_name = "decisions-of-platform"
expires_after_hours = 8
{EXISTING}{ENCRYPTION}{SCALED}[alarms]
[deployment]
strategy = "all-at-once"
[budget]
monthly_usd = 250.5
""",
    "existing-async": f'''kind = "decision"
{HEAD}{EMBEDDED}[endpoint]
mode = "async"
instance_type = "ml.c6i.xlarge"
{EXISTING}files_bucket = "{FILES_BUCKET}"
{ENCRYPTION}''',
    "existing-batch": f'''kind = "decision"
{HEAD}{EMBEDDED}[endpoint]
mode = "batch"
instance_type = "ml.c6i.xlarge"
{EXISTING}files_bucket = "{FILES_BUCKET}"
''',
    "expiring-text": f'''kind = "text"
{HEAD}{EMBEDDED}[endpoint]
instance_type = "ml.c6i.4xlarge"
expires_after_hours = 24
[alarms]
topic_arn = "{TOPIC_ARN}"
[budget]
monthly_usd = 100
''',
}


def write_all(folder: Path, root: Path) -> Path:
    """The project of matrix.py with these environments too."""
    write_project(folder, root)
    for name, text in ACCOUNT_CASES.items():
        (folder / "environments" / f"{name}.toml").write_text(text)
    return folder
