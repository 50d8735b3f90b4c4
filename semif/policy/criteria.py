"""`Criteria`: what a policy says, apart from whom it asks."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, StringConstraints, model_validator

from semif.policy.bars import Bar, Probability, Thresholds
from semif.policy.conditions import Condition
from semif.policy.cross_checks import problems_together
from semif.policy.made_for import MadeFor
from semif.policy.rules import MAX_ENDPOINTS, MAX_RULES, Fallback, Rule, ShortName, Veto
from semif.project.all_problems import with_all_problems
from semif_adapter.contract.wire import Identifier, WireModel


class Criteria(WireModel):
    """Thresholds, rules, vetoes and the fallback. Raises ValidationError with all problems at once."""

    name: ShortName
    """Every outcome names it."""
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    """For people: where the thresholds come from, say."""
    thresholds: Thresholds
    """The options that the policy knows, and the probability from which each is accepted; 0: any."""
    min_margin: Probability = 0.0
    """How far the choice must be ahead of the next option, as a difference of probabilities. A tie never
    passes."""
    min_allowed_token_mass: Probability | None = None
    """The least share of the model's whole probability on the options' letters. Where the model tells none
    (the text readout), no answer passes: leave it out for such a model."""
    rules: Annotated[tuple[Rule, ...], Field(strict=False, max_length=MAX_RULES)] = ()
    """Before the model; the first that holds decides."""
    vetoes: Annotated[tuple[Veto, ...], Field(strict=False, max_length=MAX_RULES)] = ()
    """After it, on every option that would be the outcome; the first that holds decides."""
    fallback: Fallback = Fallback()
    endpoints: Annotated[dict[Identifier, Bar], Field(max_length=MAX_ENDPOINTS)] = Field(default_factory=dict)
    """Endpoints of the fallback whose answers have to reach something else than the first one's."""
    made_for: MadeFor | None = None
    """What the thresholds were found on. An answer that is something else goes to the fallback, a question
    with other words is refused. Without it nothing is compared."""

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, content: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check the parts together as well, even where one alone is wrong already."""
        if isinstance(content, cls):
            return content
        across = problems_together(content) if isinstance(content, Mapping) else ()
        return with_all_problems(cls, content, handler, across)

    def bar(self, endpoint: str | None) -> Bar:
        """What an answer of `endpoint` must reach; None for the one asked first."""
        if endpoint is not None and endpoint in self.endpoints:
            return self.endpoints[endpoint]
        return Bar(
            thresholds=self.thresholds,
            min_margin=self.min_margin,
            min_allowed_token_mass=self.min_allowed_token_mass,
            answerers=self.made_for.answerers if self.made_for else (),
        )

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the rules in which functions take part."""
        rules: tuple[Rule | Veto, ...] = (*self.rules, *self.vetoes)
        return tuple(
            rule.name
            for rule in rules
            if not all(isinstance(condition, Condition) for condition in rule.when)
        )

    @property
    def sha256(self) -> str | None:
        """Over the policy's content, whatever the order of its keys; None where functions take part."""
        if self.functions:
            return None
        # Without the key where it says nothing: older audit lines name the policy by the hash of the rest.
        unsaid = {key for key in ("made_for", "endpoints") if not getattr(self, key)}
        content = self.model_dump(mode="json", exclude=unsaid)
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
