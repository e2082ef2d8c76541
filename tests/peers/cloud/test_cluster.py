"""Ray nodes that share no disk, neither with each other nor with the command: everything goes through the bucket."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.recordings import READY, write
from pantrace.cli.engine_options import RAY
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import Engine
from pantrace.places import path_at, run_path_at
from pantrace.store import query
from peers.cloud.s3_server import Server, names_in, upload
from peers.cloud.test_run_directory import content

os.environ.update(RAY)  # as the command does, before Ray is imported

SAMPLES = 300


def test_nodes_without_a_common_disk_make_the_same_also_when_one_is_killed(
    server: Server, bucket: str, machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray.cluster_utils import Cluster

    folder = tmp_path / "runs"
    folder.mkdir()
    for name in "ab":
        write(folder / f"{name}.trace.jsonl", range(SAMPLES // 2))
    store = server.store(bucket)
    upload(store, folder, "runs")
    url = f"s3://{bucket}/runs"
    evaluate_into([path_at(url)], run_path_at(f"s3://{bucket}/alone"), READY, "", span_bytes=4_000)

    monkeypatch.setenv("PANTRACE_CACHE", str(tmp_path / "driver"))
    head = {"num_cpus": 0, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        disks = [tmp_path / f"node-{number}" for number in range(2)]
        nodes = [
            cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1", env_vars={"PANTRACE_CACHE": str(disk)})
            for disk in disks
        ]
        killed: list[int] = []

        def kill(_: object) -> None:
            if not killed:
                cluster.remove_node(nodes[0], allow_graceful=False)
                killed.append(1)

        out = run_path_at(f"s3://{bucket}/cluster")
        engine = Engine(name="ray", address=cluster.address)
        done = evaluate_into([path_at(url)], out, READY, "", engine=engine, span_bytes=4_000, on_sample=kill)
        assert (done.measured, killed) == (SAMPLES, [1])
    finally:
        cluster.shutdown()
    assert content(store, "cluster", tmp_path / "one") == content(store, "alone", tmp_path / "two")
    # The nodes had their own copies of the recordings, and sent what they made; nothing of it came by the command.
    assert [*disks[1].rglob("a.trace.jsonl")]
    assert not [*(tmp_path / "driver").rglob("*.parquet")]
    assert not [*disks[1].rglob("parts/*")], "what was sent is not kept"
    counted = query(out, "select count(*), count(distinct sample) from samples").rows
    assert counted == [(SAMPLES, SAMPLES // 2)], "each recording has samples of the same names"
    assert not [key for key in names_in(store, "cluster") if key.endswith(("lock", ".tmp"))]
