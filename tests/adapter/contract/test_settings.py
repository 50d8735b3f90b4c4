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


def test_other_peoples_variables_are_none_of_ours() -> None:
    assert Settings.from_env({"PATH": "/bin", "SEMIF_PORT": ""}) == Settings()


def test_the_key_reaches_the_container_and_no_message() -> None:
    settings = Settings.from_env({"SEMIF_API_KEY": "a-secret-key"})
    assert Settings.from_env(settings.to_env()) == settings
    assert settings.to_env() == {"SEMIF_API_KEY": "a-secret-key"}
    assert "a-secret-key" not in repr(settings)
    with pytest.raises(StartupError, match=r"SEMIF_API_KEY is not allowed: .*visible ASCII") as raised:
        Settings.from_env({"SEMIF_API_KEY": "a secret key"})
    assert "a secret key" not in str(raised.value)
