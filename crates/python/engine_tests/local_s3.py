"""A local S3 that counts its requests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import boto3
import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class LocalS3:
    """A server, and a client for it. It counts requests by kind."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.application = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.count(environ)
        return self.application(environ, start_response)

    def count(self, environ: dict[str, Any]) -> None:
        """Counts a request."""
        self.kinds["LIST" if "list-type=" in environ["QUERY_STRING"] else environ["REQUEST_METHOD"]] += 1

    def take(self) -> dict[str, int]:
        """The requests since the last call."""
        kinds, self.kinds = dict(self.kinds), Counter()
        return kinds

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Answers requests of this process and its children, whose environment has the address and keys."""
        server = make_server("127.0.0.1", 0, self, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**keys, "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
                patch.setenv(name, value)
            self.client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
            yield self
        server.shutdown()
