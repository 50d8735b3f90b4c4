"""The functions of libllama and ggml that we call, and what is passed to them by value.

From `include/llama.h`, and `ggml-backend.h` and `gguf.h` of `ggml/include`, in llama.cpp from b10433 on.
"""

import ctypes
from typing import Any

from semif_adapter.llama.struct_layouts import ParamsBlob

_pointer, _text, _int, _uint, _size, _bool = (
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_int32,
    ctypes.c_uint32,
    ctypes.c_size_t,
    ctypes.c_bool,
)


class Batch(ctypes.Structure):
    """`llama_batch`: parallel arrays of one entry per token (56 bytes in every build tried)."""

    _fields_ = (
        ("n_tokens", _int),
        ("token", _pointer),
        ("embd", _pointer),
        ("pos", _pointer),
        ("n_seq_id", _pointer),
        ("seq_id", _pointer),
        ("logits", _pointer),
    )


class GgufParams(ctypes.Structure):
    """`gguf_init_params` of ggml/include/gguf.h, passed by value."""

    _fields_ = (("no_alloc", _bool), ("ctx", _pointer))


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "ggml_backend_dev_backend_reg": (_pointer, [_pointer]),
    "ggml_backend_dev_count": (_size, []),
    "ggml_backend_dev_get": (_pointer, [_size]),
    "ggml_backend_dev_name": (_text, [_pointer]),
    "ggml_backend_dev_description": (_text, [_pointer]),
    "ggml_backend_dev_type": (ctypes.c_int, [_pointer]),
    "ggml_backend_reg_name": (_text, [_pointer]),
    "ggml_backend_load_all_from_path": (None, [_text]),
    "gguf_find_key": (ctypes.c_int64, [_pointer, _text]),
    "gguf_free": (None, [_pointer]),
    "gguf_get_kv_type": (ctypes.c_int, [_pointer, ctypes.c_int64]),
    "gguf_get_val_str": (_text, [_pointer, ctypes.c_int64]),
    "gguf_init_from_file": (_pointer, [_text, GgufParams]),
    "llama_backend_init": (None, []),
    "llama_context_default_params": (ParamsBlob, []),
    "llama_decode": (_int, [_pointer, Batch]),
    "llama_free": (None, [_pointer]),
    "llama_get_embeddings_ith": (_pointer, [_pointer, _int]),
    "llama_get_logits_ith": (_pointer, [_pointer, _int]),
    "llama_get_memory": (_pointer, [_pointer]),
    "llama_init_from_model": (_pointer, [_pointer, ParamsBlob]),
    "llama_log_set": (None, [_pointer, _pointer]),
    "llama_memory_clear": (None, [_pointer, _bool]),
    "llama_memory_seq_cp": (None, [_pointer, _int, _int, _int, _int]),
    "llama_memory_seq_rm": (_bool, [_pointer, _int, _int, _int]),
    "llama_model_chat_template": (_text, [_pointer, _text]),
    "llama_model_default_params": (ParamsBlob, []),
    "llama_model_desc": (_int, [_pointer, _text, _size]),
    "llama_model_free": (None, [_pointer]),
    "llama_model_get_vocab": (_pointer, [_pointer]),
    "llama_model_is_hybrid": (_bool, [_pointer]),
    "llama_model_is_recurrent": (_bool, [_pointer]),
    "llama_model_load_from_file": (_pointer, [_text, ParamsBlob]),
    "llama_model_meta_val_str": (_int, [_pointer, _text, _text, _size]),
    "llama_model_n_ctx_train": (_int, [_pointer]),
    "llama_model_n_swa": (_int, [_pointer]),
    "llama_model_n_embd_out": (_int, [_pointer]),
    "llama_n_batch": (_uint, [_pointer]),
    "llama_n_ctx": (_uint, [_pointer]),
    "llama_n_ctx_seq": (_uint, [_pointer]),
    "llama_n_seq_max": (_uint, [_pointer]),
    "llama_n_ubatch": (_uint, [_pointer]),
    "llama_set_abort_callback": (None, [_pointer, _pointer, _pointer]),
    "llama_set_embeddings": (None, [_pointer, _bool]),
    "llama_set_n_threads": (None, [_pointer, _int, _int]),
    "llama_state_seq_get_data": (_size, [_pointer, _pointer, _size, _int]),
    "llama_state_seq_get_size": (_size, [_pointer, _int]),
    "llama_state_seq_set_data": (_size, [_pointer, _pointer, _size, _int]),
    "llama_token_to_piece": (_int, [_pointer, _int, _text, _int, _int, _bool]),
    "llama_tokenize": (_int, [_pointer, _text, _int, _pointer, _int, _bool, _bool]),
    "llama_vocab_bos": (_int, [_pointer]),
    "llama_vocab_eos": (_int, [_pointer]),
    "llama_vocab_get_add_bos": (_bool, [_pointer]),
    "llama_vocab_get_attr": (ctypes.c_int, [_pointer, _int]),
    "llama_vocab_get_text": (_text, [_pointer, _int]),
    "llama_vocab_n_tokens": (_int, [_pointer]),
}
"""By name: what it returns, and its arguments."""
