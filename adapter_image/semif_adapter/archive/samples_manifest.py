"""The `model-manifest.json` of AWS's sample, which has the name of ours and another form.

Read from its deploy/package_model.py on 2026-11-30 (03-features/semif-decision-model in
aws-samples/sagemaker-genai-hosting-examples): beside it the archive holds the GGUF and a folder `tokenizer`,
which llama.cpp does not need.
"""

from pydantic import BaseModel, ConfigDict

from semif_adapter.archive.manifest import MemberName, Sha256


class SamplesGguf(BaseModel):
    """Where the GGUF came from, and what proves it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    repo: str
    revision: str
    file: MemberName
    sha256: Sha256


class SamplesManifest(BaseModel):
    """The part of it that says which model it is."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    gguf: SamplesGguf
