"""The modes of environments, by name. A new one is a file beside these and a line here.

What calls AWS for it is registered under the same name in semif/deployment/modes, its stack in cdk_app.
"""

from semif.environment.modes.async_ import Async
from semif.environment.modes.batch import Batch
from semif.environment.modes.mode import InferenceMode
from semif.environment.modes.realtime import Realtime
from semif.environment.tables.names import MODE_NAMES

MODES: dict[str, InferenceMode] = {mode.name: mode for mode in (Realtime(), Async(), Batch())}

MODE_NAMES.registry = MODES
