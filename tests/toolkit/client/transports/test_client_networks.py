"""Between the client and what answers: TLS with a company's own certificates, proxies that tunnel."""

import base64
import datetime
import ipaddress
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from semif import DecisionClient, Retry
from semif.aws.clients import INVOKE, Aws
from semif.client.errors import AccessError, DecisionError, UnreachableError
from semif.errors import SemifError
from tests.support.servers.running import running
from tests.support.servers.sagemaker_stand_in import StandIn
from tests.support.servers.serving import free_port

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

ONCE = Retry(max_attempts=1)
OPTIONS = ["yes", "no"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, by nobody that a machine knows, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a company")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


class Tunnel(ThreadingHTTPServer):
    """A proxy that opens no tunnel, for one reason or another."""

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _TunnelHandler)
        self.status = status
        self.asked: list[tuple[str, str | None]] = []


class _TunnelHandler(BaseHTTPRequestHandler):
    server: Tunnel

    def do_CONNECT(self) -> None:
        self.server.asked.append((self.path, self.headers["Proxy-Authorization"]))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def runtime_at(url: str, **config: object) -> "SageMakerRuntimeClient":
    """botocore's client of an address, as an application might make one."""
    made = INVOKE.merge(type(INVOKE)(**config))  # type: ignore[arg-type]  # that is what is tested
    return Aws(region="us-east-1", endpoint_url=url).session.client(
        "sagemaker-runtime", endpoint_url=url, config=made
    )


@pytest.mark.parametrize(("place", "variable"), [("url", "SSL_CERT_FILE"), ("endpoint", "AWS_CA_BUNDLE")])
def test_a_companys_own_certificates_are_trusted_where_they_are_named(
    place: str, variable: str, certificate: Path, adapter_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = StandIn()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http://", "https://")
    with running(server):
        server.behind = adapter_url

        def ask() -> str:
            runtime = runtime_at(url) if place == "endpoint" else None
            with DecisionClient(
                "demo" if runtime else None,
                url=None if runtime else url,
                sagemaker_runtime=runtime,
                retry=ONCE,
            ) as client:
                return client.decide("s", "q", OPTIONS).choice

        with pytest.raises(UnreachableError, match="cannot be reached") as caught:
            ask()
        assert place == "endpoint" or "over TLS" in str(caught.value)
        monkeypatch.setenv(variable, str(certificate))
        assert ask() in OPTIONS
    assert len(server.bodies) == 1


@pytest.mark.parametrize("place", ["url", "endpoint", "the runtime's own"])
@pytest.mark.parametrize(("status", "kind"), [(407, AccessError), (502, UnreachableError)])
def test_a_proxy_that_opens_no_tunnel_is_told_and_its_password_is_not(
    place: str, status: int, kind: type[DecisionError], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(Tunnel(status)) as proxy:
        address = f"http://me:tulip@127.0.0.1:{proxy.server_port}"
        unused = f"http://127.0.0.1:{free_port()}"
        monkeypatch.setenv("https_proxy", unused if place == "the runtime's own" else address)
        url = "https://elsewhere.invalid"
        runtime = None
        if place == "endpoint":
            runtime = runtime_at(url)
        elif place != "url":
            runtime = runtime_at(url, proxies={"https": address})
        with (
            DecisionClient(
                "demo" if runtime else None,
                url=None if runtime else url,
                sagemaker_runtime=runtime,
                retry=ONCE,
            ) as client,
            pytest.raises(kind) as caught,
        ):
            client.decide("s", "q", OPTIONS)
    assert "tulip" not in f"{caught.value} {caught.value.__dict__}"
    assert proxy.asked == [("elsewhere.invalid:443", "Basic " + base64.b64encode(b"me:tulip").decode())]


def test_settings_of_a_runtime_that_are_not_followed_are_refused() -> None:
    runtime = runtime_at("https://elsewhere.invalid", proxies_config={"proxy_ca_bundle": "x"})
    with pytest.raises(SemifError, match="has a proxies_config, which is not followed here"):
        DecisionClient("demo", sagemaker_runtime=runtime)
