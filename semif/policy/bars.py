"""`Bar`: what an answer of one endpoint must reach.

Models differ in how sure they are: the probability at which a small one is right in nine of ten is another
one's in six of ten. So an endpoint of the fallback may have a bar of its own.
"""

from typing import Annotated

from pydantic import Field

from semif.policy.made_for import MAX_ANSWERERS, Answerer
from semif_adapter.contract.wire import MAX_OPTIONS, Identifier, WireModel

Probability = Annotated[float, Field(ge=0, le=1)]
Thresholds = Annotated[dict[Identifier, Probability], Field(min_length=2, max_length=MAX_OPTIONS)]


class Bar(WireModel):
    """For one endpoint of the fallback, in place of all that the top says of an answer."""

    thresholds: Thresholds
    """The same options as at the top, and the probability from which each is accepted; 0: any."""
    min_margin: Probability = 0.0
    """As at the top."""
    min_allowed_token_mass: Probability | None = None
    """As at the top."""
    answerers: Annotated[tuple[Answerer, ...], Field(strict=False, max_length=MAX_ANSWERERS)] = ()
    """Whose answers these thresholds are for; needed where the policy has `[made_for]`."""
