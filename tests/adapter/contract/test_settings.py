import re

import pytest

from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings


def test_both_sides_agree_on_the_variables() -> None:
    settings = Settings(context_tokens=2048, deadline_seconds=600, stall_seconds=1.5, metrics="off")
    assert Settings.from_env(settings.to_env()) == settings
    assert Settings().to_env() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SEMIF_DEADLINE_SECONDS", "0"),
        ("SEMIF_DEADLINE_SECONDS", "3601"),
        ("SEMIF_HOST", "ü.example"),
        ("SEMIF_HOST", "\udcff"),
        ("SEMIF_HOST", "127.0.0.1 "),
        ("SEMIF_LOG_LEVEL", "LOUD"),
        ("SEMIF_METRICS", "yes"),
        ("SEMIF_ENDPOINT_NAME", "a b"),
        ("SEMIF_MAX_QUEUED_TOKENS", "many"),
        ("SEMIF_TIMEOUT", "5"),
    ],
)
def test_a_wrong_or_unknown_variable_is_named_in_one_line(name: str, value: str) -> None:
    with pytest.raises(StartupError, match=name) as raised:
        Settings.from_env({name: value})
    assert "\n" not in str(raised.value)


def test_a_variable_whose_name_is_no_unicode_is_named() -> None:
    with pytest.raises(StartupError, match=r"SEMIF_X\\UDCFF is not a setting"):
        Settings.from_env({"SEMIF_X\udcff": "1"})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SEMIF_N_GPU_LAYERS", "SEMIF_N_GPU_LAYERS is called SEMIF_GPU_LAYERS here"),
        ("SEMIF_MAX_TOKENS", "SEMIF_MAX_TOKENS is called SEMIF_CONTEXT_TOKENS here"),
        ("SEMIF_MAX_SHARED_DECISIONS", "SEMIF_MAX_SHARED_DECISIONS is called SEMIF_MAX_DECISIONS here"),
        ("SEMIF_GGUF_PATH", "SEMIF_GGUF_PATH is called SEMIF_GGUF here"),
        ("SEMIF_LLAMA_CPP_LIB_DIR", "SEMIF_LLAMA_CPP_LIB_DIR is called SEMIF_LIBRARY_DIR here"),
        ("SEMIF_MAX_REQUEST_TOKENS", "SEMIF_MAX_REQUEST_TOKENS has no counterpart: each prompt may have"),
        ("SEMIF_TOKENIZER_REVISION", "SEMIF_TOKENIZER_REVISION has no counterpart, the GGUF's own tokenizer"),
    ],
)
def test_the_samples_variables_are_told_their_new_names(name: str, said: str) -> None:
    with pytest.raises(StartupError) as raised:
        Settings.from_env({name: "1"})
    assert str(raised.value).startswith(said)
    assert "settings are" not in str(raised.value)
    for new in re.findall("SEMIF_[A-Z_]+", str(raised.value).removeprefix(name)):
        assert new.removeprefix("SEMIF_").lower() in Settings.model_fields


def test_the_settings_are_listed_once_however_many_are_unknown() -> None:
    with pytest.raises(StartupError) as raised:
        Settings.from_env({"SEMIF_A": "1", "SEMIF_B": "1", "SEMIF_N_GPU_LAYERS": "-1", "SEMIF_PORT": "0"})
    message = str(raised.value)
    assert message.count("SEMIF_CONTEXT_TOKENS") == 1
    assert "SEMIF_A is not a setting; SEMIF_B is not a setting; " in message
    assert "SEMIF_PORT=0 is not allowed" in message


def test_other_peoples_variables_are_none_of_ours() -> None:
    assert Settings.from_env({"PATH": "/bin", "SEMIF_PORT": ""}) == Settings()


@pytest.mark.parametrize("name", ["SEMIF_API_KEY", "SEMIF_API_KEY_NEXT"])
def test_the_key_reaches_the_container_and_no_message(name: str) -> None:
    variables = {name: "a-secret-key"}
    settings = Settings.from_env(variables)
    assert Settings.from_env(settings.to_env()) == settings
    assert settings.to_env() == variables
    assert "a-secret-key" not in repr(settings)
    with pytest.raises(StartupError, match=rf"{name} is not allowed: .*visible ASCII") as raised:
        Settings.from_env({name: "a secret key"})
    assert "a secret key" not in str(raised.value)
