"""Buckets and repositories of images as templates make them, delete them and guard them."""
# Replacing methods is what this room is for, and mypy forbids it under each of these names:
# mypy: disable-error-code="method-assign, assignment, attr-defined, arg-type"

from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.ecr.models import Repository, ecr_backends
from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket, PublicAccessBlock, s3_backends


def complete_buckets() -> None:
    """Keep what moto drops of a bucket's properties, and refuse to delete one that is not empty."""
    create = FakeBucket.create_from_cloudformation_json.__func__
    delete = FakeBucket.delete_from_cloudformation_json.__func__

    def create_bucket(
        cls: type[FakeBucket], resource_name: str, cloudformation_json: Any, *where: str, **rest: str
    ) -> FakeBucket:
        bucket: FakeBucket = create(cls, resource_name, cloudformation_json, *where, **rest)
        properties = cloudformation_json.get("Properties", {})
        if "VersioningConfiguration" in properties:
            bucket.versioning_status = properties["VersioningConfiguration"]["Status"]
        if block := properties.get("PublicAccessBlockConfiguration"):
            bucket.public_access_block = PublicAccessBlock(
                block_public_acls=_truth(block.get("BlockPublicAcls")),
                ignore_public_acls=_truth(block.get("IgnorePublicAcls")),
                block_public_policy=_truth(block.get("BlockPublicPolicy")),
                restrict_public_buckets=_truth(block.get("RestrictPublicBuckets")),
            )
        return bucket

    def delete_bucket(
        cls: type[FakeBucket], resource_name: str, cloudformation_json: Any, account_id: str, region_name: str
    ) -> None:
        bucket = s3_backends[account_id]["aws"].buckets.get(resource_name)
        if bucket is not None and bucket.keys:
            raise ValidationError(message=f"The bucket you tried to delete is not empty: {resource_name}")
        delete(cls, resource_name, cloudformation_json, account_id, region_name)

    FakeBucket.create_from_cloudformation_json = classmethod(create_bucket)
    FakeBucket.delete_from_cloudformation_json = classmethod(delete_bucket)


def complete_repositories() -> None:
    """Delete a repository with its images where the template says so (EmptyOnDelete)."""
    create = Repository.create_from_cloudformation_json.__func__

    def create_repository(
        cls: type[Repository], resource_name: str, cloudformation_json: Any, *where: str, **rest: str
    ) -> Repository:
        repository: Repository = create(cls, resource_name, cloudformation_json, *where, **rest)
        repository.empty_on_delete = _truth(cloudformation_json["Properties"].get("EmptyOnDelete")) == "true"
        return repository

    def delete(self: Repository, account_id: str, region_name: str) -> None:
        ecr_backends[account_id][region_name].delete_repository(self.name, force=self.empty_on_delete)

    Repository.create_from_cloudformation_json = classmethod(create_repository)
    Repository.delete = delete


def _truth(value: object) -> str:
    return str(value or False).lower()


def enforce_no_policies() -> None:
    """Keep bucket policies without applying them: no IAM is enforced here, and everything is plain HTTP."""
    FakeBucket.get_permission = lambda _self, _action, _resource: PermissionResult.NEUTRAL
