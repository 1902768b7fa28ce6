"""Bring middlewatch to a box over ssh, into a folder of its own; and take it away again.

Everything lies in one folder: an environment, the configuration, the state, a small script that knows
where these are. What is there already, with the same digests, is not sent or installed again. Secrets go
through standard input, into files for their owner alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..system.clock import Clock, iso
from ..system.errors import Refused, UsageError
from ..system.ssh import ssh_words
from .connection import PAUSES_S, Box, BoxUnreachable, Done, RemoteFailed
from .probe import LEAST_BYTES, Probe
from .wheels import collect, lines_for, own_wheel

Say = Callable[[str], None]


@dataclass(slots=True)
class Deployed:
    """What was done; ``deploy --json``."""

    host: str
    place: str
    python: str
    machine: str
    glibc: str
    index: bool
    installed: bool = False
    """False: the same was there already."""
    sent: int = 0
    """Bytes of wheels."""
    platforms: list[str] = field(default_factory=list)
    boot: dict[str, Any] = field(default_factory=dict)
    test: list[dict[str, Any]] = field(default_factory=list)
    doctor: str = ""
    coverage: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Deployer:
    """Installs on one box."""

    def __init__(self, box: Box, found: Probe, clock: Clock, say: Say) -> None:
        self._box = box
        self._found = found
        self._clock = clock
        self._say = say
        self._made = Deployed(
            box.host,
            found.place,
            f"{found.target.python} ({found.python})",
            found.target.machine,
            f"2.{found.target.glibc}",
            found.index,
        )

    def deploy(
        self,
        wheels: Sequence[Path],
        *,
        config: str | None,
        alerts: str | None,
        boot: bool,
    ) -> Deployed:
        """Install or upgrade, configure, start, and examine it.

        ``config``: text of its configuration; ``alerts``: URLs, one a line; ``None``: what is there
        stays. Raises MiddlewatchError.
        """
        found, made = self._found, self._made
        _check_room(found)
        record = _record(found.record)
        digests = {one.name: _sha256(one) for one in wheels}
        self._choose_place(wheels, record)
        wanted = hashlib.sha256(json.dumps([found.python, sorted(digests.items())]).encode())
        told = {"digest": wanted.hexdigest(), "place": made.place}
        if record.get("digest") != told["digest"] or record.get("place") != made.place:
            made.sent = self._send(wheels, digests)
            self._say(f"installing into {made.place}")
            self._install(wheels)
            self._write(
                f"{made.place}/deployed.json", json.dumps({**told, "at": iso(self._clock.now())})
            )
            made.installed = True
        if config is not None:
            self._configure(config)
        self._set_up(alerts, boot=boot)
        self._examine()
        return made

    @property
    def program(self) -> str:
        """The script on the box that runs it."""
        return f"{self._made.place}/bin/middlewatch"

    # ------------------------------------------------------------------------ where

    def _choose_place(self, wheels: Sequence[Path], record: dict[str, Any]) -> None:
        """Where it outlives a stop. Asked of our own code there, unless it is installed already."""
        if record.get("place"):
            self._made.place = record["place"]
            return
        own = next(one for one in wheels if one.name.startswith("middlewatch-"))
        script = (
            'd=$(mktemp -d) && cat > "$d/w.zip" && cd "$d" && '
            f"{shlex.quote(self._found.python)} -m zipfile -e w.zip . && "
            f"PYTHONPATH=$d {shlex.quote(self._found.python)} -m middlewatch.daemon.box.deployed "
            f'place {shlex.quote(self._found.home)}; s=$?; rm -rf "$d"; exit $s'
        )
        done = self._piped(script, own)
        try:
            told = json.loads(done.out)
        except ValueError:
            self._made.notes.append("whether the home folder outlives a stop was not found out")
            return
        self._made.place, self._made.platforms = told["place"], told["platforms"]
        if told["survives_stop"] is False:
            self._made.notes.append(f"{told['place']} does not outlive a stop: {told['why']}")

    # ------------------------------------------------------------------------ install

    def _send(self, wheels: Sequence[Path], digests: dict[str, str]) -> int:
        """Send the wheels that are not there yet; the bytes of these."""
        folder = f"{self._made.place}/wheels"
        quoted, sent = shlex.quote(folder), 0
        for attempt in range(1 + len(PAUSES_S)):
            listed = self._box.run(
                f"umask 077; mkdir -p {quoted} && cd {quoted} && sha256sum *.whl 2>/dev/null; exit 0"
            )
            there = dict(
                line.split(None, 1)[::-1] for line in listed.out.splitlines() if " " in line
            )
            there = {name.strip().lstrip("*"): digest for name, digest in there.items()}
            stale = [name for name in there if name not in digests]
            missing = [one for one in wheels if there.get(one.name) != digests[one.name]]
            if stale:
                self._box.run(f"cd {quoted} && rm -f -- {shlex.join(stale)}")
            if not missing:
                return sent
            if attempt:
                self._clock.sleep(PAUSES_S[attempt - 1])
            count = sum(one.stat().st_size for one in missing)
            self._say(f"sending {len(missing)} wheels, {count / 1e6:.0f} MB")
            with tempfile.TemporaryDirectory() as home:
                bundle = Path(home, "wheels.tar")
                _pack(bundle, missing)
                with contextlib.suppress(BoxUnreachable):
                    self._piped(f"cd {quoted} && tar -xf - --no-same-owner", bundle)
            sent += count
        raise BoxUnreachable(
            f"the wheels did not arrive whole on {self._box.host}",
            "call it again: what has come is kept",
        )

    def _install(self, wheels: Sequence[Path]) -> None:
        """Make the environment, or bring it up to date; the daemon stands still meanwhile."""
        place, python = shlex.quote(self._made.place), shlex.quote(self._found.python)
        pip = next(one.name for one in wheels if one.name.startswith("pip-"))
        own = next(one.name for one in wheels if one.name.startswith("middlewatch-"))
        if by_index := len(wheels) == len((pip, own)):
            pins = "\n".join(lines_for(self._found.target.python, self._found.target.machine))
            self._write(f"{self._made.place}/wheels/pins.txt", f"{pins}\n")
        first = "--require-hashes -r wheels/pins.txt" if by_index else f'--no-index "wheels/{own}"'
        script = f"""
set -e
umask 077
cd {place}
[ -x bin/middlewatch ] && bin/middlewatch stop >/dev/null 2>&1 || :
[ -x venv/bin/python ] && venv/bin/python -c '' 2>/dev/null || {{
    rm -rf venv
    {python} -m venv --without-pip venv
}}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_CACHE_DIR=1
pip() {{ venv/bin/python "wheels/{pip}/pip" install --quiet "$@"; }}
pip --find-links wheels {first}
pip --no-index --no-deps --force-reinstall "wheels/{own}"
mkdir -p bin state
"""
        self._checked(self._box.run(script), "it could not be installed")
        wrapper = (
            "#!/bin/sh\n# Written by `middlewatch deploy`.\n"
            f"export MIDDLEWATCH_STATE_DIR={place}/state MIDDLEWATCH_CONFIG={place}/config.toml\n"
            f'exec {place}/venv/bin/middlewatch "$@"\n'
        )
        self._write(self.program, wrapper)
        home = f"{self._found.home}/.middlewatch"
        link = f"chmod 700 {shlex.quote(self.program)}"
        if self._made.place != home:
            link += (
                f" && mkdir -p {shlex.quote(home)}/bin && ln -sfn {shlex.quote(self.program)} "
                f"{shlex.quote(home)}/bin/middlewatch && printf %s {place} > {shlex.quote(home)}/place"
            )
        self._checked(self._box.run(link), "it could not be made executable")

    def _configure(self, text: str) -> None:
        path = f"{self._made.place}/config.toml"
        self._write(path, text)
        self._ours("config", "check")

    def _set_up(self, alerts: str | None, *, boot: bool) -> None:
        words = ["setup", "--yes", "--json", "--boot" if boot else "--no-boot"]
        words += ["--alert", "-"] if alerts is not None else ["--no-alert"]
        answer = json.loads(self._ours(*words, given=alerts or "", ok=(0, 1)))
        self._made.boot, self._made.test = answer["boot"], answer["test"]
        self._made.notes += [*answer["warnings"], *answer["boot"]["notes"]]

    def _examine(self) -> None:
        report = json.loads(self._ours("doctor", "--json", ok=(0, 1)))
        self._made.doctor = report["verdict"]
        self._made.notes += [
            f"doctor: {one['what']}: {one['detail']}"
            for one in report["checks"]
            if one["state"] == "bad"
        ]
        audit = json.loads(self._ours("audit", "--json", ok=(0, 1)))
        wanted = ("GPUs", "kernel log", "inotify", "stacks", "memory")
        self._made.coverage = [one for one in audit["checks"] if one["what"] in wanted]

    # ------------------------------------------------------------------------ over the wire

    def _ours(self, *words: str, given: str = "", ok: Sequence[int] = (0,)) -> str:
        done = self._box.run(shlex.join([self.program, *words]), given)
        if done.status not in ok:
            self._checked(Done(done.status or 1, done.out, done.err), f"middlewatch {words[0]}")
        return done.out

    def _write(self, path: str, text: str) -> None:
        """Replace a file there, for its owner alone; the text goes through standard input."""
        quoted = shlex.quote(path)
        script = f'umask 077; mkdir -p "$(dirname {quoted})" && cat > {quoted}.part && mv {quoted}.part {quoted}'
        self._checked(self._box.run(script, text), f"{path} could not be written")

    def _piped(self, script: str, file: Path) -> Done:
        """Run a script with a file on its standard input."""
        argv = [*ssh_words(), "-T", self._box.host, f"exec sh -c {shlex.quote(script)}"]
        with file.open("rb") as data:
            done = subprocess.run(
                argv,
                stdin=data,
                capture_output=True,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        told = Done(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )
        if told.status in (255, -9, -15):
            raise BoxUnreachable(
                f"the connection to {self._box.host} was cut: {told.err[-200:].strip()}"
            )
        return told

    def _checked(self, done: Done, what: str) -> None:
        if done.status:
            said = [line.strip() for line in done.err.splitlines() if line.strip()]
            lines = [line.removeprefix("middlewatch: ") for line in said]
            raise RemoteFailed(f"{self._box.host}: {what}: {' '.join(lines[-3:])[-400:]}")


def gather(cache: Path, found: Probe, given: Path | None) -> list[Path]:
    """The wheels to send: only ours and pip where the box has an index, else all that it needs.

    Raises UsageError.
    """
    if given is not None:
        fit = sorted(given.glob("*.whl"))
        if not any(one.name.startswith("pip-") for one in fit):
            raise UsageError(
                f"{given} has no wheel of pip", f"pip download --no-deps -d {given} pip"
            )
        cache.mkdir(parents=True, exist_ok=True)
        return [*(one for one in fit if not one.name.startswith("middlewatch-")), own_wheel(cache)]
    name = f"{found.target.python}-{found.target.machine}-{found.target.glibc}"
    wheels = collect(cache / name, found.target)
    if found.index:
        return [one for one in wheels if one.name.startswith(("middlewatch-", "pip-"))]
    return wheels


def remove(box: Box, found: Probe, *, force: bool) -> list[str]:
    """Stop it and take everything away; sentences about what was kept. The runs go on.

    Raises Refused while a run still writes into the folder, unless ``force``.
    """
    record = _record(found.record)
    if not record:
        return [f"nothing that deploy has installed is on {box.host}"]
    place = record["place"]
    quoted, program = shlex.quote(place), f"{place}/bin/middlewatch"
    if not force:
        done = box.run(shlex.join([program, "manifest", "--quick", "--json"]))
        with contextlib.suppress(ValueError, KeyError):
            alive = [run["run"] for run in json.loads(done.out)["runs"] if run["alive"]]
            if alive:
                raise Refused(
                    f"{', '.join(alive)} still runs on {box.host}, and what it prints is kept in {place}",
                    "bring it home first: middlewatch pull; --yes removes it all the same",
                )
    env = f"MIDDLEWATCH_STATE_DIR={quoted}/state MIDDLEWATCH_CONFIG={quoted}/config.toml"
    script = (
        f"cd / && {shlex.quote(program)} stop >/dev/null 2>&1; "
        f"{env} {quoted}/venv/bin/python -m middlewatch.daemon.box.deployed leave; "
        f"{shlex.quote(program)} stop >/dev/null 2>&1; rm -rf -- {quoted} "
        f"{shlex.quote(found.home)}/.middlewatch; test ! -e {quoted}"
    )
    done = box.run(script)
    if done.status:
        raise RemoteFailed(f"{box.host}: {place} could not be removed: {done.err[-300:].strip()}")
    try:
        return list(json.loads(done.out)["notes"])
    except (ValueError, KeyError):
        return [
            f"whether {box.host} starts it at boot could not be found out: {done.err[-200:].strip()}"
        ]


def _pack(bundle: Path, files: Sequence[Path]) -> None:
    """Put files into one archive, by their names alone. Raises UsageError."""
    named = [word for one in files for word in ("-C", str(one.parent.absolute()), one.name)]
    # A Mac would add files of its own to it.
    env = {**os.environ, "COPYFILE_DISABLE": "1"}
    try:
        done = subprocess.run(
            ["tar", "-cf", str(bundle), *named], capture_output=True, check=False, env=env
        )
    except OSError as error:
        raise UsageError(f"tar cannot be started: {error.strerror}") from None
    if done.returncode:
        raise UsageError(f"tar: {done.stderr.decode(errors='replace').strip()[-300:]}")


def _check_room(found: Probe) -> None:
    if found.free is not None and found.free < LEAST_BYTES and not found.record:
        raise UsageError(
            f"{found.host} has {found.free >> 20} MiB left in {found.home}, and {LEAST_BYTES >> 20} are wanted",
            "make room there: df -h",
        )


def _record(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    place = str(told.get("place", "")) if isinstance(told, dict) else ""
    # It is deleted with all that is below it: only a folder of the name that deploy gives is believed.
    own = place.startswith("/") and place.endswith("/.middlewatch") and ".." not in place
    return told if own else {}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def as_row(made: Deployed) -> dict[str, Any]:
    """For ``deploy --json``."""
    return asdict(made)
