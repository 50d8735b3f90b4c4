"""The HTTP server: moto's application with our extensions, for programs on this machine only."""

import logging
import socket
import threading
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

import local_aws.moto_patches  # noqa: F401 - first: the version of moto, before others import its inside
from local_aws.cloudformation.resources import resource_classes
from local_aws.codebuild.projects import CodeBuild
from local_aws.core.context import HOST, LocalContext
from local_aws.images.container_engine import ContainerEngine
from local_aws.images.ecr import EcrLayers
from local_aws.images.published import know_published_images
from local_aws.moto_patches import operations, stacks, storage
from local_aws.sagemaker.endpoints import SageMakerEndpoints
from local_aws.sagemaker.records import SageMakerRecords
from local_aws.sagemaker.streaming import StreamedInvocations
from local_aws.sagemaker.transform_jobs import TransformJobs

BROWSER_HEADERS = {"HTTP_ORIGIN", "HTTP_SEC_FETCH_SITE"}


class LocalOnly:
    """Refuses what a web page in a browser on this machine could send: a build runs shell commands.

    The AWS SDKs and the CDK CLI send no header that only browsers have, and the Host of their endpoint URL.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """WSGI."""
        host = environ.get("HTTP_HOST", "").rsplit(":", 1)[0]
        if BROWSER_HEADERS & environ.keys() or host not in {HOST, "localhost"}:
            start_response("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"the local AWS answers programs on this machine only\n"]
        return self._application(environ, start_response)


def make(listener: socket.socket, context: LocalContext, endpoints: SageMakerEndpoints) -> BaseWSGIServer:
    """The server on a listening socket, of which it takes a duplicate."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    moto: Any = DomainDispatcherApplication(create_backend_app)
    application: Any = LocalOnly(StreamedInvocations(moto, context, endpoints))
    host, port = listener.getsockname()
    return make_server(
        host,
        port,
        application,
        threaded=True,
        request_handler=MotoRequestHandler,
        fd=listener.fileno(),
    )


def extend_moto(context: LocalContext) -> SageMakerEndpoints:
    """Put the extensions into moto, once per process; returns the endpoints that they host."""
    records = SageMakerRecords(context)
    endpoints = SageMakerEndpoints(context, records)
    engine = ContainerEngine(context)
    codebuild = CodeBuild(context, engine)
    operations.serve_operations(
        context,
        "sagemaker",
        records.operations() | endpoints.operations() | TransformJobs(context, records).operations(),
    )
    operations.serve_operations(context, "codebuild", codebuild.operations())
    operations.serve_operations(context, "ecr", EcrLayers(engine).operations())
    operations.serve_invocations(context, endpoints)
    stacks.know_resources(resource_classes(context, records, endpoints, codebuild))
    stacks.run_stacks_in_the_background()
    stacks.follow_updates()
    stacks.hand_tokens_on()
    stacks.fetch_templates_by_path()
    storage.complete_buckets()
    storage.complete_repositories()
    know_published_images()
    storage.enforce_no_policies()
    return endpoints


def serve(server: BaseWSGIServer) -> threading.Thread:
    """Answer requests in the background until `server.shutdown()`."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    return thread
