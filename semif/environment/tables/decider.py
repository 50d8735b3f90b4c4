"""`[decider]`: how the server of Strands Decider runs, as the variables that its published container reads.

The variables and their defaults are those of https://aws.github.io/deep-learning-containers/strands-decider/
configuration/, the options of `DECIDER_ARGS` those of `strands-decider serve` (strands-labs/strands-decider,
inference.md and cli.py at 21cd84dd); both read on 2026-11-30, no container of it was seen.
"""

import shlex
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from semif.environment.tables.endpoint import FileTable

MODEL_FOLDER = "/opt/ml/model"
"""Where the container finds the model data."""


class DeciderTable(FileTable):
    """`[decider]`: the server's settings. Everything has a default.

    One request is computed at a time, which is no setting: until it is known that
    strands-labs/strands-decider#17 is mended, requests that overlap may be given each other's answers.
    """

    strict_window: bool = True
    """A state that does not fit the model's window is refused (422); false: it is cut without a word."""
    warmup: bool = True
    """The server computes a request of its own before it is ready."""
    device_map: Literal["auto"] | None = None
    """auto: a model that is larger than one GPU is split over all of the instance's."""
    max_batch: Annotated[int, Field(ge=1, le=256)] | None = None
    """Most questions of a request that go through the model together; unset: the server's 32."""
    max_batch_tokens: Annotated[int, Field(ge=256, le=1_048_576)] | None = None
    """Most tokens of such a pass, its padding included; unset: no bound beside max_batch."""
    prefix_cache: bool = True
    """A request's state is computed once for all of its questions; false: once for each of them."""

    def variables(self, *, folder: str, hub_cache: str) -> dict[str, str]:
        """The container's environment: checkpoint and cache of the hub lie in these folders of the data."""
        split = {} if self.device_map is None else {"DECIDER_DEVICE_MAP": self.device_map}
        return {
            "DECIDER_ARGS": shlex.join(self._arguments()),
            "DECIDER_CHECKPOINT": f"{MODEL_FOLDER}/{folder}",
            "DECIDER_DEVICE": "cuda",
            "DECIDER_MAX_CONCURRENCY": "1",
            "DECIDER_WARMUP": "1" if self.warmup else "0",
            **split,
            "HF_HUB_CACHE": f"{MODEL_FOLDER}/{hub_cache}",
            "HF_HUB_OFFLINE": "1",
        }

    def _arguments(self) -> Iterator[str]:
        if self.strict_window:
            yield "--strict-window"
        if not self.prefix_cache:
            yield "--no-prefix-cache"
        for name in ("max_batch", "max_batch_tokens"):
            value = getattr(self, name)
            if value is not None:
                yield from (f"--{name.replace('_', '-')}", str(value))
