"""How many requests to S3 it takes to open a session: counted between the store and moto's server."""

from __future__ import annotations

import logging
import os
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.testing.faulty_proxy import FaultyProxy


def requests_per_session_open(sessions: int = 20) -> float:
    """Requests for `Store.session` by full id, the catalog being up to date; the mean over all sessions.

    One session is a recording with its artefacts, the others are manifests alone: what is opened is the same.
    """
    from twinloop.core.ids import new_ulid
    from twinloop.store.ingest import ingest
    from twinloop.store.manifest import Manifest
    from twinloop.store.queries import list_sessions
    from twinloop.store.store import Store
    from twinloop.testing.synthetic import SessionSpec, record_session

    with tempfile.TemporaryDirectory() as folder, _s3(Path(folder)) as proxy:
        recording = Path(folder, "recording.mcap")
        record_session(recording, SessionSpec(duration_s=2.0))
        store = Store.create("s3://bucket/store")
        ingest(store, recording)
        for _ in range(sessions - 1):
            store.manifests.commit(Manifest(new_ulid()), "for the benchmark")
        warm = Store.open("s3://bucket/store")
        ids = [row.id for row in list_sessions(warm.catalog)]
        before = len(proxy.requests)
        for id in ids:
            warm.session(id).close()
        return (len(proxy.requests) - before) / len(ids)


@contextmanager
def _s3(folder: Path) -> Iterator[FaultyProxy]:
    """moto's S3 with an empty ``bucket``, the environment leading to it by way of a proxy that counts."""
    from moto.server import ThreadedMotoServer

    from twinloop.testing.faulty_proxy import FaultyProxy

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    before = dict(os.environ)
    try:
        urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/bucket", method="PUT")).close()
        with FaultyProxy(host, port) as proxy:
            os.environ.update(
                AWS_ENDPOINT_URL=proxy.url,
                AWS_ALLOW_HTTP="true",
                AWS_REGION="us-east-1",
                AWS_ACCESS_KEY_ID="benchmark",
                AWS_SECRET_ACCESS_KEY="benchmark",
                TWINLOOP_CACHE=str(folder / "cache"),
            )
            yield proxy
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.stop()


if __name__ == "__main__":
    print(f"s3_requests_per_session_open {requests_per_session_open():g}")
