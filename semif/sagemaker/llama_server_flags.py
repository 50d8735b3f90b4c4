"""The flags of llama-server that an environment may set, by their long names.

From llama.cpp's tools/server/README.md, those that have been there for long: the published container follows
llama.cpp's releases, and flags come and go with them. Left out is what names files or places that the
container does not have, what opens it to callers, and what takes it off the two routes that SageMaker asks.
"""

VALUE_FLAGS = frozenset(
    """
    alias batch-size cache-ram cache-reuse cache-type-k cache-type-v chat-template chat-template-kwargs
    ctx-checkpoints ctx-size dry-allowed-length dry-base dry-multiplier dry-penalty-last-n dynatemp-exp
    dynatemp-range flash-attn frequency-penalty grammar json-schema keep load-mode main-gpu min-p mirostat
    mirostat-ent mirostat-lr n-cpu-moe n-gpu-layers n-predict numa override-kv override-tensor parallel poll
    pooling presence-penalty prio reasoning-budget reasoning-format repeat-last-n repeat-penalty
    reverse-prompt rope-freq-base rope-freq-scale rope-scale rope-scaling samplers seed
    slot-prompt-similarity split-mode temp tensor-split threads threads-batch threads-http timeout top-k
    top-p typical ubatch-size verbosity xtc-probability xtc-threshold yarn-attn-factor yarn-beta-fast
    yarn-beta-slow yarn-ext-factor yarn-orig-ctx
    """.split()  # noqa: SIM905 - a hundred quotes would hide the words
)
BARE_FLAGS = frozenset(
    """
    cache-prompt check-tensors cont-batching context-shift cpu-moe ignore-eos jinja kv-unified log-jsonl
    log-prefix log-timestamps metrics no-cache-prompt no-cont-batching no-context-shift no-escape no-jinja
    no-kv-offload no-kv-unified no-log-prefix no-log-timestamps no-op-offload no-repack no-slots no-warmup
    no-webui slots special swa-full verbose warmup
    """.split()  # noqa: SIM905 - a hundred quotes would hide the words
)
"""Flags that stand alone; some have an opposite, with or without `no-`."""
