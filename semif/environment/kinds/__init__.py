"""The kinds of environments, by name. A new one is a file beside these and a line here.

How its endpoint is asked first is registered under the same name in semif/deployment/kinds.
"""

from semif.environment.kinds.decider import Decider
from semif.environment.kinds.decision import Decision
from semif.environment.kinds.kind import ServingKind
from semif.environment.kinds.text import Text
from semif.environment.tables.names import KIND_NAMES

KINDS: dict[str, ServingKind] = {kind.name: kind for kind in (Decision(), Text(), Decider())}

KIND_NAMES.registry = KINDS
