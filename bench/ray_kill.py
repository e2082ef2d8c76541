"""A node of a Ray cluster killed at random moments of an evaluation, by a seed; the results are held against those of
one process.

The cluster runs on this machine: a head of one core that stays, and for each round a node of one core that is killed.
Needs the extra `cluster`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import measuring  # noqa: F401 -- puts the sources on the path
from pool import content
from recordings import native


def evaluated(source: Path, out: Path, address: str | None) -> float:
    """Seconds that an evaluation takes: here, or on a cluster."""
    from pantrace.engine.evaluate import evaluate_into
    from pantrace.engine.executor import Engine
    from pantrace.engine.plan import Plan, prepare

    shutil.rmtree(out, ignore_errors=True)
    engine = Engine(jobs=1) if address is None else Engine(name="ray", address=address)
    begun = time.perf_counter()
    evaluate_into([source], out, prepare(Plan(), Path()), "", engine=engine, span_bytes=1_000_000)
    return time.perf_counter() - begun


def killed(cluster: Any, source: Path, out: Path, pause: float) -> tuple[bool, str]:
    """One evaluation of which a node is killed after so many seconds: whether that was in time, and what came of it."""
    victim, over, in_time = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1"), threading.Event(), []

    def kill() -> None:
        if not over.wait(pause):
            in_time.append(True)
            cluster.remove_node(victim, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    evaluated(source, out, cluster.address)
    over.set()
    killer.join()
    if not in_time:
        cluster.remove_node(victim, allow_graceful=False)
    return bool(in_time), content(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kill", type=int, default=10, metavar="N")
    parser.add_argument("--size", type=int, default=600, help="samples")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    from pantrace.cli.engine_options import RAY

    os.environ.update(RAY)
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    dice, found, late, begun = random.Random(given.seed), [], 0, time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as name:
            source, out = native(Path(name), given.size), Path(name) / "out"
            evaluated(source, out, None)
            expected = content(out)
            whole = evaluated(source, out, cluster.address)
            while len(found) < given.kill and late < given.kill:
                in_time, now = killed(cluster, source, out, dice.uniform(0, 0.9 * whole))
                late += not in_time
                found += [now] if in_time else []
                told = "too late" if not in_time else "equal" if now == expected else "DIFFERS"
                print(f"{len(found) + late}: {told}", flush=True)
    finally:
        cluster.shutdown()
    counts = {"kills": len(found), "equal": sum(each == expected for each in found), "too_late": late}
    print(json.dumps({**counts, "seed": given.seed, "seconds": round(time.perf_counter() - begun)}))


if __name__ == "__main__":
    main()
