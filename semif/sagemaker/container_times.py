"""How long SageMaker waits for a container behind an endpoint.

Read on 2026-11-30 in its developer guide, "Custom Inference Code with Hosting Services"; not seen.
"""

INVOCATION_SECONDS = 60
"""Within which a realtime endpoint's container has to answer; what it answers later reaches nobody."""
STOP_SECONDS = 30
"""From SIGTERM to SIGKILL, where an instance is taken back or its endpoint moves to another model."""
