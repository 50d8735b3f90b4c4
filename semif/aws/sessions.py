"""Sessions of boto3: the module that loads it, for whoever makes a client. Many commands ask no AWS."""

import os

import boto3
import botocore.session
from s3transfer.exceptions import RetriesExceededError

from semif.aws.service_models import share_service_models

TRANSFER_FAILURE = RetriesExceededError
"""What managed transfers raise besides botocore's errors."""


def configured_region(profile: str | None) -> str | None:
    """Of the variables that botocore reads, or of the profile."""
    return boto3.Session(profile_name=profile).region_name


def own_session(profile: str | None, region: str) -> boto3.Session:
    """The caller's own."""
    core = botocore.session.get_session()
    session = boto3.Session(profile_name=profile, region_name=region, botocore_session=core)
    share_service_models(core)
    return session


def local_session(key_id: str, secret: str, region: str) -> boto3.Session:
    """One that reads no configuration of the user's."""
    # A session variable is (key in the config file, variable, default, conversion): these are their defaults.
    fixed = {"profile": None, "config_file": os.devnull, "credentials_file": os.devnull}
    variables = {name: (None, None, value, None) for name, value in fixed.items()}
    core = botocore.session.Session(session_vars=variables)
    session = boto3.Session(
        aws_access_key_id=key_id, aws_secret_access_key=secret, region_name=region, botocore_session=core
    )
    share_service_models(core)
    return session
