"""A real S3 server in a process of its own, on loopback: moto's."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import obstore.store


class Server:
    """Its address, and what a user's environment holds to reach it."""

    def __init__(self, port: int):
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "loopback",
            "AWS_SECRET_ACCESS_KEY": "loopback",
            "AWS_REGION": "us-east-1",
        }
        self.port = port

    def create(self, bucket: str) -> obstore.store.S3Store:
        """A new bucket."""
        import boto3

        client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            aws_access_key_id="loopback",
            aws_secret_access_key="loopback",
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=bucket)
        return self.store(bucket)

    def store(self, bucket: str) -> obstore.store.S3Store:
        """A client that is not pantrace's."""
        return obstore.store.S3Store(
            bucket,
            endpoint=self.environment["AWS_ENDPOINT_URL"],
            access_key_id="loopback",
            secret_access_key="loopback",
            region="us-east-1",
            client_options={"allow_http": True},
        )


def upload(store: obstore.store.S3Store, folder: Path, prefix: str) -> None:
    """A folder, file by file."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            store.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def names_in(store: obstore.store.S3Store, prefix: str) -> set[str]:
    """Keys below a prefix."""
    return {each["path"] for some in store.list(prefix) for each in some}


@contextmanager
def running_server() -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], **quiet)
    try:
        while True:
            assert process.poll() is None, "the server has ended"
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield Server(port)
    finally:
        process.kill()
        process.wait()
