"""Environments for synth checks: every serving path, with settings dealt out so that any two of them meet."""

import re
import shutil
from itertools import product
from pathlib import Path
from typing import Any

CUDA_POOL = """instance_pool = ["ml.g6.xlarge", "ml.g5.xlarge"]
provision_timeout_seconds = 600
inference_ami_version = "al2023-ami-sagemaker-inference-gpu-4-1\""""
FALLBACK_POOL = CUDA_POOL.replace("ml.g5.xlarge", "ml.c6i.4xlarge")

PATHS = {
    "cpu": ("decision", 'instance_type = "ml.c6i.xlarge"\nvolume_size_gb = 40'),
    "pool": ("decision", 'instance_pool = ["ml.c6i.xlarge", "ml.c5.xlarge", "ml.m5d.xlarge"]'),
    "cuda": ("decision", f"{CUDA_POOL}\nvolume_size_gb = 40"),
    "fallback": ("decision", FALLBACK_POOL),
    "graviton": ("decision", 'instance_pool = ["ml.c7g.xlarge", "ml.c6gd.xlarge"]'),
    "text": ("text", 'instance_type = "ml.c6i.4xlarge"'),
    "text-fallback": ("text", FALLBACK_POOL),
}
"""Kind and place of each serving path."""

KEY_ARN = "arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555"
NETWORKS = {
    "none": "",
    "groups": """[network]
vpc_id = "vpc-0123456789abcdef0"
subnet_ids = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
security_group_ids = ["sg-0123456789abcdef0"]
""",
    "vpc": """[network]
s3_prefix_list_id = "pl-6ea54007"
vpc_id = "vpc-0123456789abcdef0"
subnet_ids = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
""",
}
ENCRYPTION = f'''[encryption]
kms_key_arn = "{KEY_ARN}"
'''
MIRROR = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/mirror/llama-cpp"
WALL = """[builds]
vpc_id = "vpc-0123456789abcdef0"
subnet_ids = ["subnet-0123456789abcdef2"]
security_group_ids = ["sg-0123456789abcdef1"]
python_index = "https://packages.example.com/simple"
model_hub = "https://hub.example.com"
"""
CAPTURE = """[data_capture]
sampling_percent = 5
expiry_days = 7
"""
TOPIC_ARN = "arn:aws:sns:eu-central-1:111122223333:somebody"
OPERATION = {
    "still": "",
    "canary": """[scaling]
min_instance_count = 2
max_instance_count = 5
schedule_timezone = "Europe/Berlin"
[scaling.schedule]
"cron(0 7 ? * MON-FRI *)" = 4
"cron(0 20 ? * MON-FRI *)" = 2
[deployment]
strategy = "canary"
[alarms]
""",
    "rolling": f"""[deployment]
strategy = "rolling"
wait_seconds = 300
[alarms]
topic_arn = "{TOPIC_ARN}"
""",
}
"""How it scales, how it is updated, and who is told."""
QUEUES = {
    "zero": f"""[scaling]
min_instance_count = 0
max_instance_count = 5
[alarms]
topic_arn = "{TOPIC_ARN}"
""",
    "canary": f"""[async]
expiry_days = 3
success_topic_arn = "{TOPIC_ARN}"
[scaling]
min_instance_count = 2
max_instance_count = 5
backlog_per_instance = 30
[deployment]
strategy = "canary"
[alarms]
backlog_age_seconds = 300
""",
}
"""The same for asynchronous endpoints."""
BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"


def cases() -> dict[str, dict[str, Any]]:
    """Name (path and network) to what the case is."""
    found = {}
    for row, (path, network) in enumerate(product(PATHS, NETWORKS)):
        case = {
            "path": path,
            "network": network,
            "encrypted": row % 2 == 0,
            "retained": row // 2 % 2 == 0,
            "bounded": (row // 3 + row) % 3 == 0,
            "uncompressed": (row // 6 + row % 3) % 2 == 0,
            "operation": list(OPERATION)[(row // 3 + 2 * row + row // 9) % 3],
            "walled": row % 5 % 2 == 0,
            "captured": not path.startswith("text") and row % 3 == (row // 3 + 1) % 3,
            "mode": "realtime",
        }
        found[f"{path}-{network}"] = case
    for row, path in enumerate(("cpu", "cuda", "text", "pool")):
        found[f"async-{path}"] = {
            "path": path,
            "network": list(NETWORKS)[row % 3],
            "encrypted": row < 2,
            "retained": row % 2 == 0,
            "bounded": row == 1,
            "uncompressed": row == 2,
            "operation": list(QUEUES)[row % 2],
            "walled": row > 1,
            "captured": False,
            "mode": "async",
        }
    return found


def environment_file(case: dict[str, Any]) -> str:
    """The text of a case's file."""
    kind, place = PATHS[case["path"]]
    parts = [
        f'kind = "{kind}"\nremoval = "{"retain" if case["retained"] else "destroy"}"\n',
        f'permissions_boundary = "{BOUNDARY}"\n[tags]\nteam = "decisions"\n' if case["bounded"] else "",
        '[model]\npreset = "embedded"\n',
        'format = "prefix"\n' if case["uncompressed"] else "",
        f"[endpoint]\n{place}\n",
        "" if case["mode"] == "realtime" else f'mode = "{case["mode"]}"\n',
        "" if case["operation"] == "still" else "initial_instance_count = 2\n",
        (OPERATION if case["mode"] == "realtime" else QUEUES)[case["operation"]],
        NETWORKS[case["network"]],
        ENCRYPTION if case["encrypted"] else "",
        WALL if case["walled"] else "",
        f'base_repository = "{MIRROR}"\n' if case["walled"] and kind == "decision" else "",
        CAPTURE if case.get("captured") else "",
    ]
    return "".join(parts)


BATCH = {
    "batch": 'initial_instance_count = 3\ninstance_type = "ml.c6i.xlarge"',
    "batch-cuda": f'instance_type = "ml.g6.xlarge"\n{NETWORKS["groups"]}{ENCRYPTION}',
}
"""Environments of mode batch, which most settings of the others do not go with: their place and the rest."""


def batch_file(place: str) -> str:
    """The text of a file of mode batch."""
    head = f'kind = "decision"\nremoval = "retain"\npermissions_boundary = "{BOUNDARY}"\n'
    return f'{head}[model]\npreset = "embedded"\n[endpoint]\nmode = "batch"\n{place}\n'


def write_project(folder: Path, root: Path) -> Path:
    """A project with these environments, the presets of `root` and its base images, Graviton's pinned too."""
    shutil.copytree(root / "models", folder / "models")
    (folder / "environments").mkdir()
    for name, case in cases().items():
        (folder / "environments" / f"{name}.toml").write_text(environment_file(case))
    for name, place in BATCH.items():
        (folder / "environments" / f"{name}.toml").write_text(batch_file(place))
    images = (root / "adapter_image" / "dlc.toml").read_text()
    (folder / "adapter_image").mkdir()
    # Nobody pinned the Graviton image yet: any digest shows what a synthesis with one gives.
    pinned = re.sub(
        r"(?ms)^(\[graviton\](?:(?!^digest|^\[).)*)\Z", rf'\1digest = "sha256:{"a" * 64}"\n', images
    )
    (folder / "adapter_image" / "dlc.toml").write_text(pinned)
    return folder
