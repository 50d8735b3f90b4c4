"""Writes what the image holds beside its base's own packages: a CycloneDX 1.6 document, and licence texts.

    python bill_of_materials.py PIP_REPORT SBOM LICENCES

Runs while the image is built, by the interpreter that the wheels were installed for, on pip's installation
report and with the build arguments as variables. It writes no time and no serial number: the same build gives
the same bytes.
Format: https://cyclonedx.org/docs/1.6/json/
"""

import json
import os
import platform
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlparse

PINS = ("SOURCE_SHA256", "WHEEL_LOCK_SHA256", "REVISION")
"""Build arguments that tell from what the image was made."""
LICENCE_FILES = ("licen", "copying", "notice", "authors")


def main() -> None:
    """Read the report, write both files."""
    report, sbom, licences = map(Path, sys.argv[1:])
    wheels = sorted(json.loads(report.read_text())["install"], key=lambda wheel: wheel["metadata"]["name"])
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _image()},
        "components": [_base(os.environ["DLC_IMAGE"]), _llama_cpp(), _python(), *map(_wheel, wheels)],
    }
    sbom.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    licences.write_text(
        "\n".join(_licence_texts(distribution(wheel["metadata"]["name"])) for wheel in wheels)
    )


def _image() -> dict[str, Any]:
    return {
        "type": "container",
        "name": "semif-adapter",
        "version": os.environ["VERSION"],
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "properties": [
            {"name": f"semif:{name.lower().replace('_', '-')}", "value": os.environ[name]} for name in PINS
        ],
    }


def _base(image: str) -> dict[str, Any]:
    """The container that is extended; what is in it is its publisher's to list."""
    repository, _, digest = image.partition("@")
    name = repository.rpartition("/")[2]
    return {
        "type": "container",
        "name": repository,
        "version": digest,
        "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}],
        "purl": f"pkg:oci/{name}@{quote(digest, safe='')}?repository_url={quote(repository, safe='')}",
    }


def _llama_cpp() -> dict[str, Any]:
    return {
        "type": "library",
        "name": "llama.cpp",
        "version": os.environ["LLAMA_CPP_BUILD"],
        "description": "compiled libraries of the base image, unchanged",
        "licenses": [{"license": {"id": "MIT"}}],
    }


def _python() -> dict[str, Any]:
    version = platform.python_version()
    return {
        "type": "platform",
        "name": "python",
        "version": version,
        "licenses": [{"license": {"id": "Python-2.0"}}],
        "purl": f"pkg:generic/python@{version}",
    }


def _wheel(installed: dict[str, Any]) -> dict[str, Any]:
    """A package as pip installed it. Of its address only the file's name: an address can hold a password."""
    name, version = installed["metadata"]["name"], installed["metadata"]["version"]
    source = installed["download_info"]
    file = unquote(urlparse(source["url"]).path.rpartition("/")[2])
    purl_name = name.lower().replace("_", "-").replace(".", "-")
    return {
        "type": "library",
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": source["archive_info"]["hashes"]["sha256"]}],
        "licenses": _licences(distribution(name)),
        "purl": f"pkg:pypi/{purl_name}@{version}?file_name={quote(file)}",
    }


def _licences(package: Distribution) -> list[dict[str, Any]]:
    """The SPDX expression where the package has one, else what it says in words (core metadata, PEP 639)."""
    told = package.metadata
    if expression := told.get("License-Expression"):
        return [{"expression": expression}]
    kinds = [kind for kind in told.get_all("Classifier", []) if kind.startswith("License :: ")]
    names = [kind.rpartition(" :: ")[2] for kind in kinds] or [told.get("License") or "not stated"]
    return [{"license": {"name": name}} for name in names]


def _licence_texts(package: Distribution) -> str:
    """The package's name and version, and every licence file that its wheel brings."""
    parts = [f"{'=' * 80}\n{package.name} {package.version}"]
    for file in sorted(package.files or (), key=str):
        inside = ".dist-info" in file.parts[0] and file.name != "RECORD"
        if inside and file.name.lower().startswith(LICENCE_FILES):
            parts.append(f"{'-' * 80}\n{file}\n\n{Path(str(file.locate())).read_text(errors='replace')}")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
