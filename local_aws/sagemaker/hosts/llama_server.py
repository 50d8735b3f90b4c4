"""llama-server as the package `xllamacpp` has it: its own reading of flags, then its own server.

The package offers the server but not the reading of a command line. Its library has that too, as a C++
function that fills the structure inside a `CommonParams`; that it does so is proven before it is relied on.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import xllamacpp
from xllamacpp import xllamacpp as extension

_PARSE = "_Z19common_params_parseiPPcR13common_params13llama_examplePFviS0_E"
"""`bool common_params_parse(int, char **, common_params &, llama_example, void (*)(int, char **))`."""
_SERVER = 12
"""LLAMA_EXAMPLE_SERVER, in common/common.h of llama.cpp: other programs know other flags."""
_PROOF = ("--ctx-size", "1234", "--cache-ram", "567")
"""Flags whose effect can be read back; the second is the server's alone."""


class FlagsError(Exception):
    """llama-server refuses its flags; it has said on stderr which and why."""


def parse_flags(flags: Sequence[str]) -> Any:
    """The `CommonParams` that llama-server makes of `flags`.

    Raises FlagsError where the program would end, and RuntimeError where this build cannot be asked.
    """
    proof = xllamacpp.CommonParams()
    if not _parse(proof, _PROOF) or (proof.n_ctx, proof.cache_ram_mib) != (1234, 567):
        raise _unknown_build()
    params = xllamacpp.CommonParams()
    if not _parse(params, flags):
        raise FlagsError("these flags are not all known, or not well set")
    if params.n_parallel < 0:  # what the program makes of its own default, after it has read the flags
        params.n_parallel, params.kv_unified = 4, True
    return params


def start_server(params: Any) -> tuple[Any, str]:
    """Load the model and serve it at a free port of this machine.

    Returns the server, which ends when it is let go, and its URL. Raises RuntimeError where the model cannot
    be loaded.
    """
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    server = xllamacpp.Server(params)
    return server, str(server.listening_address)


def _parse(params: Any, flags: Sequence[str]) -> bool:
    parse = getattr(ctypes.CDLL(extension.__file__), _PARSE, None)
    if parse is None:
        raise _unknown_build()
    parse.restype = ctypes.c_bool
    parse.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    words = [b"llama-server", *(flag.encode() for flag in flags)]
    return bool(parse(len(words), (ctypes.c_char_p * len(words))(*words), _structure(params), _SERVER, None))


def _structure(params: Any) -> int:
    """Address of the `common_params`, right behind the object's head: it begins with n_predict and n_ctx."""
    address = id(params) + object.__basicsize__
    kept = params.n_predict, params.n_ctx
    params.n_predict, params.n_ctx = 1_234_567, 7_654_321
    first_two = (ctypes.c_int32 * 2).from_address(address)
    if (first_two[0], first_two[1]) != (1_234_567, 7_654_321):
        raise _unknown_build()
    params.n_predict, params.n_ctx = kept
    return address


def _unknown_build() -> RuntimeError:
    return RuntimeError(
        f"xllamacpp {getattr(xllamacpp, '__version__', '')} keeps its parameters otherwise than known here; "
        "install the version that requirements/dev.txt locks"
    )
