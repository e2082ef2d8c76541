"""Builds wheel and sdist, looks into them, installs the wheel where nothing else is, and runs every command from it.

Each extra is installed once, one after another, into a second environment, which must stay consistent (`pip check`).
"""

from __future__ import annotations

import configparser
import email
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SAMPLE = ROOT / "examples/inspect/basic.eval"
# What an extra must make possible: a module that its packages bring.
PROBES = {
    "analysis": "duckdb, pyarrow, scipy, vl_convert",
    "judge": "pydantic_ai, openai, anthropic, google.genai",
    "view": "starlette, uvicorn, pantrace.viewer.server",
    "cloud": "obstore",
    "cluster": "ray",
    "vertex": "agentplatform, pandas",
    "speed": "isal",
    "all": "duckdb, pydantic_ai, starlette, obstore, isal",
}


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGUN:6.1f} s  {text}", flush=True)


def run(*words: object, folder: Path, code: int = 0) -> str:
    """What a command prints; an error where it ends otherwise than expected."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PANTRACE"))}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    done = subprocess.run([*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path) -> Path:
    """The folder of programs of an environment with nothing in it, not even pip."""
    venv.create(folder)
    return folder / "bin"


def install(programs: Path, *packages: object) -> None:
    """Install by the pip that runs this; without compiling, since few of the modules are ever imported."""
    pip = [sys.executable, "-m", "pip", "--python", programs / "python"]
    run(*pip, "install", "--quiet", "--no-compile", *packages, folder=programs)


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, built from the sdist, and the sdist."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    programs = environment(folder / "build-env")
    install(programs, "build", *needed)
    run(programs / "python", "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT, folder=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


def look_into(wheel: Path, sdist: Path) -> None:
    """Every file of the package is inside, data and licences too, and the metadata says what pyproject.toml says."""
    tracked = run("git", "ls-files", "src/pantrace", folder=ROOT).split()
    archive = zipfile.ZipFile(wheel)
    inside = {*archive.namelist()}
    missing = [name for name in tracked if name.removeprefix("src/") not in inside]
    assert not missing, f"not in the wheel: {missing[:10]}"
    stray = [name for name in inside if not name.startswith(("pantrace/", "pantrace-"))]
    assert not stray, f"in the wheel, and not ours: {stray[:10]}"
    (information,) = {name.partition("/")[0] for name in inside if ".dist-info/" in name}
    assert f"{information}/licenses/LICENSE" in inside, "the licence is not in the wheel"
    facts = email.message_from_bytes(archive.read(f"{information}/METADATA"))
    assert (facts["Name"], facts["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert (facts["License-Expression"], facts["Requires-Python"]) == (PROJECT["license"], PROJECT["requires-python"])
    assert facts.get_payload().startswith("# pantrace"), "the README is not the description"  # type: ignore[union-attr]
    assert {*facts.get_all("Provides-Extra", [])} == {*PROJECT["optional-dependencies"]}
    assert {*PROBES} == {*PROJECT["optional-dependencies"]}, "an extra has no probe"
    points = configparser.ConfigParser()
    points.read_string(archive.read(f"{information}/entry_points.txt").decode())
    assert "pantrace" in points["console_scripts"]
    assert "pantrace" in points["pytest11"]
    with tarfile.open(sdist) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {*tracked, "LICENSE", "README.md", "pyproject.toml"} <= names, "the sdist lacks files"
    say(f"{wheel.name}: {len(inside)} files, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {len(names)} names")


def try_commands(programs: Path, folder: Path) -> None:
    """Every command's help, a conversion and back, and a hint where an extra is missing."""
    version = run(programs / "pantrace", "--version", folder=folder)
    assert PROJECT["version"] in version, version
    listed = run(
        programs / "python", "-c", "from pantrace.cli import COMMANDS; print(*COMMANDS)", folder=folder
    ).split()
    for name in listed:
        assert "Usage:" in run(programs / "pantrace", name, "--help", folder=folder), name
    run(programs / "pantrace", "convert", SAMPLE, "--to", "native", "-o", "log.trace.jsonl", folder=folder)
    run(programs / "pantrace", "convert", "log.trace.jsonl", "--to", "inspect", "-o", "log.eval", folder=folder)
    assert (folder / "log.eval").stat().st_size > 1000
    run(programs / "pantrace", "report", SAMPLE, "-o", "report.html", "--no-plots", folder=folder)
    run(programs / "pantrace", "eval", SAMPLE, "--out", "results", folder=folder, code=2)
    # `run` says it before the agent is asked; it records without the extra.
    (folder / "questions.csv").write_text("question\nWho?\n")
    asking = ("run", "questions.csv", "--agent", "cmd:echo me", "--out", "asked")
    run(programs / "pantrace", *asking, folder=folder, code=2)
    assert not (folder / "asked").exists(), "the agent was asked before the extra was looked for"
    run(programs / "pantrace", *asking, "--no-eval", folder=folder)
    say(f"without extras: --help of {len(listed)} commands, conversions, a report; `eval` and `run` name their extra")


def try_extras(wheel: Path, folder: Path) -> None:
    """Each extra once, each with what it is for."""
    programs = environment(folder / "extras")
    for extra, modules in PROBES.items():
        install(programs, f"{wheel}[{extra}]")
        run(programs / "python", "-c", f"import {modules}", folder=folder)
        if extra == "analysis":
            run(programs / "pantrace", "eval", SAMPLE, "--out", "results", folder=folder)
        say(f"pantrace[{extra}]")
    run(sys.executable, "-m", "pip", "--python", programs / "python", "check", folder=folder)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="pantrace-package-") as name:
        folder = Path(name)
        wheel, sdist = build(folder)
        look_into(wheel, sdist)
        clean = environment(folder / "clean")
        install(clean, wheel)
        try_commands(clean, folder)
        try_extras(wheel, folder)
    used = os.times()
    say(f"the package is whole ({used.children_user + used.children_system:.0f} s of processor time)")


BEGUN = time.monotonic()
if __name__ == "__main__":
    sys.exit(main())
