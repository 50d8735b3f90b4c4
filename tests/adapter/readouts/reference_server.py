"""llama-server's `/v1/systemone` on a GGUF, a request a line: `python reference_server.py GGUF PASS_TOKENS`.

In a process of its own, since it takes over the library's log, which the adapter hears too.
"""

import json
import sys

import xllamacpp  # type: ignore[import-untyped, unused-ignore]  # the wheel has no types

REPLY = "reply: "


def main() -> None:
    """Answer until the input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = 4096
    params.n_batch = params.n_ubatch = int(sys.argv[2])
    # Nothing of another prompt is used again by a hybrid model: that would move the last digits.
    params.n_ctx_checkpoints = 0
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    for line in sys.stdin:
        print(REPLY + json.dumps(server.handle_systemone(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
