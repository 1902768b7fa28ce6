"""Copy to another host: rsync sends the files; by ssh the host reads them back and renames them.

rsync writes in place, into a temporary folder of ours. So the files of an interrupted copy are kept
and compared block by block: nothing is sent twice, and a block that was written in part is sent
again. ``--append-verify`` would send a whole file again for one bad block.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from .programs import ask
from .receipt import RECEIPT, SCHEMA, CopyJob, MirrorError, read_receipt
from .remote import Standing, Work, digest_of, standing_of
from .staging import portions, staged
from .targets import MirrorTarget

_SSH_OPTIONS = (
    *("-o", "BatchMode=yes", "-o", "ConnectTimeout=20"),
    *("-o", "ServerAliveInterval=20", "-o", "ServerAliveCountMax=6"),
)
SILENT_S = 300
"""rsync gives up after so many seconds without a byte; what it has sent stays."""
_HASHERS = (("xxhsum -H2", "xxh3"), ("xxh128sum", "xxh3"), ("sha256sum", "sha256"))
_SYNC = 's() { sync -- "$@" 2>/dev/null || sync; }'
"""A shell function that flushes files to disk; where sync takes no file names it flushes all."""
_FORGET = 's "$1"; dd if="$1" iflag=nocache count=0 2>/dev/null || :'
"""Flushes a file; GNU dd then asks the kernel to drop its cached pages, so the disk is read."""


def ssh_command() -> list[str]:
    """The program that reaches a host, with options by which it never asks and never waits for ever."""
    ssh = shlex.split(os.environ.get("RSYNC_RSH", "ssh"))
    return [*ssh, *_SSH_OPTIONS] if os.path.basename(ssh[0]) == "ssh" else ssh


class _Seen(NamedTuple):
    """What the host answered when it was asked about a copy."""

    job: CopyJob
    hasher: str
    there: bool
    sizes: dict[str, int]
    receipt: dict[str, Any] | None


class RsyncDestination:
    """A folder on a host that ssh reaches."""

    def __init__(self, place: MirrorTarget, limit_bytes_per_s: int = 0) -> None:
        self._place = place
        self._limit = limit_bytes_per_s
        self._ssh = ssh_command()
        self._seen: _Seen | None = None
        self._sha256: dict[str, str] = {}
        self.proof = "read back on the host"

    def receipt_of(self, job: CopyJob) -> Work[Mapping[str, Any] | None]:
        """The receipt of a copy, if its files are still there with their sizes."""
        seen = yield from self._look(job)
        files = (seen.receipt or {}).get("files")
        if not isinstance(files, list):
            return None
        whole = all(seen.sizes.get(f.get("name")) == f.get("bytes") for f in files)
        return seen.receipt if whole else None

    def touched(self, receipt: Mapping[str, Any], job: CopyJob) -> bool:
        """Always false: not every host keeps the times of files."""
        return False

    def standing(self, job: CopyJob) -> Work[Standing]:
        """What is there under the name of the copy."""
        seen = yield from self._look(job)
        return standing_of(job, seen.receipt, seen.sizes, there=seen.there)

    def send(self, job: CopyJob) -> Work[dict[str, str]]:
        """Read the source once for its digests, then let rsync copy it."""
        hasher = yield from self._choose_hasher(job)
        digests = {}
        for item in job.items:
            extra = [hashlib.sha256()] if hasher[1] == "sha256" else []
            digests[item.name] = yield from digest_of(item, *extra)
            self._sha256[item.name] = extra[0].hexdigest() if extra else ""
        part = self._part(job)
        yield from self._check_room(job, part)
        argv = ["rsync", "--times", "--copy-links", "--inplace", "--partial", "--no-whole-file"]
        argv += ["--perms", "--chmod=D700,F600" if job.private else "--chmod=D755,F644"]
        argv += ["--protect-args", "--from0", "--files-from=-", f"--timeout={SILENT_S}"]
        if self._limit:
            argv.append(f"--bwlimit={max(1, self._limit // 1024)}")
        argv += ["-e", shlex.join(self._ssh)]
        for items in portions(job.items):
            with staged(items) as home:
                listed = "".join(f"{item.name}\0" for item in items)
                yield from ask([*argv, f"{home}/", f"{self._place.host}:{part}/"], listed)
        return digests

    def differing(
        self, job: CopyJob, digests: Mapping[str, str], *, named: bool
    ) -> Work[list[str]]:
        """Let the host read and hash the files, from the disk if it can drop its page cache."""
        command, kind = yield from self._choose_hasher(job)
        if kind == "sha256" and job.items[0].name not in self._sha256:
            for item in job.items:
                other = hashlib.sha256()
                yield from digest_of(item, other)
                self._sha256[item.name] = other.hexdigest()
        home = self._home(job) if named else self._part(job)
        lines = [f"cd -- {shlex.quote(home)} || exit 1", _SYNC, f"f() {{ {_FORGET}"]
        lines += [f'{command} < "$1" || echo gone', "}"]
        lines += [f"f {shlex.quote('./' + item.name)}" for item in job.items]
        answers = (yield from self._run(lines)).splitlines()
        if len(answers) != len(job.items):
            raise MirrorError(
                f"{self._place.host} gave {len(answers)} digests, not {len(job.items)}"
            )
        wanted = self._sha256 if kind == "sha256" else digests
        return [
            item.name
            for item, line in zip(job.items, answers, strict=True)
            if wanted[item.name] not in line.split()
        ]

    def discard(self, job: CopyJob) -> Work[None]:
        """Delete the temporary folder."""
        yield from self._run([f"rm -rf -- {shlex.quote(self._part(job))}"])

    def place(self, job: CopyJob) -> Work[str]:
        """Move the copy to its name; an older copy of the same folder is renamed and kept."""
        receipt = (yield from self._look(job)).receipt
        ours = receipt is not None and receipt.get("source") == job.path
        target, part = self._target(job), self._part(job)
        lines = ["set -e", _mask(job), f"t={shlex.quote(target)}", f"p={shlex.quote(part)}"]
        lines.append('if [ -e "$t" ] || [ -L "$t" ]; then')
        if ours:
            stale = {"schema": SCHEMA, "source": job.path, "replacing": True}
            lines += self._written(target + RECEIPT, json.dumps(stale))
        else:
            lines += ["echo foreign", "exit 0"]
        if job.folder:
            lines += ["n=1", 'while [ -e "$t.replaced-$n" ]; do n=$((n+1)); done']
            lines += ['mv -- "$t" "$t.replaced-$n"', 'echo "replaced-$n"']
            lines += ["fi", 'mv -- "$p" "$t"']
        else:
            lines += [":", "fi"]
            home = self._home(job)
            for item in sorted(job.items, key=lambda i: i.name == job.base):
                goal = f"{home}/{item.name}"
                lines.append(f"mkdir -p -- {shlex.quote(os.path.dirname(goal))}")
                lines.append(f'mv -f -- "$p"/{shlex.quote(item.name)} {shlex.quote(goal)}')
            lines.append('rm -rf -- "$p"')
        lines += [_SYNC, f"s {shlex.quote(os.path.dirname(target))}"]
        answer = (yield from self._run(lines)).strip()
        if answer == "foreign":
            raise MirrorError(f"{target} is there already and is no copy of this checkpoint")
        return f"the copy of its older contents is kept as {job.base}.{answer}" if answer else ""

    def sign(self, job: CopyJob, receipt: Mapping[str, Any]) -> Work[None]:
        """Write the receipt. This is the last step of a copy."""
        path = self._target(job) + RECEIPT
        lines = ["set -e", _mask(job), *self._written(path, json.dumps(receipt, indent=1))]
        yield from self._run([*lines, _SYNC, f"s {shlex.quote(path)}"])

    def _look(self, job: CopyJob) -> Work[_Seen]:
        """Ask the host once what is there and what it can do: a round trip may take a second."""
        if self._seen is not None and self._seen.job == job:
            return self._seen
        target, home = self._target(job), self._home(job)
        quoted = shlex.quote(target)
        lines = ["exec 2>/dev/null", "hasher=none"]
        for command, _ in reversed(_HASHERS):
            program = command.split()[0]
            lines.append(f"command -v {program} >/dev/null && hasher='{command}'")
        lines.append('echo "$hasher"')
        lines.append(f"if [ -e {quoted} ] || [ -L {quoted} ]; then echo there; else echo free; fi")
        paths = [shlex.quote(f"{home}/{item.name}") for item in job.items]
        lines += [f"wc -c < {path} || echo -1" for path in paths]
        lines.append(f"cat -- {shlex.quote(target + RECEIPT)} || :")
        answers = (yield from self._run(lines)).split("\n", 2 + len(job.items))
        if len(answers) < 3 + len(job.items):
            raise MirrorError(f"the answer of {self._place.host} is not that of a shell")
        hasher, there, *rest = answers
        sizes = {
            item.name: int(line)
            for item, line in zip(job.items, rest, strict=False)
            if line.strip().isdigit()
        }
        found = read_receipt(rest[-1])
        self._seen = _Seen(job, hasher, there == "there", sizes, found)
        return self._seen

    def _choose_hasher(self, job: CopyJob) -> Work[tuple[str, str]]:
        seen = yield from self._look(job)
        for command, kind in _HASHERS:
            if command == seen.hasher:
                return command, kind
        raise MirrorError(f"{self._place.host} has neither xxhsum nor sha256sum to read back with")

    def _check_room(self, job: CopyJob, part: str) -> Work[None]:
        """Make the temporary folder. Raises MirrorError, before sending, if it will not fit."""
        quoted = shlex.quote(part)
        lines = [_mask(job), f"mkdir -p -- {quoted} || exit 1", f"df -Pk -- {quoted} | tail -n 1"]
        lines += [f"df -Pi -- {quoted} 2>/dev/null | tail -n 1", f"du -sk -- {quoted}"]
        rows = [line.split() for line in (yield from self._run(lines)).splitlines()]
        try:
            free = (int(rows[0][3]) + int(rows[-1][0])) * 1024
            inodes = int(rows[1][3]) if len(rows) == 3 and int(rows[1][1]) else None
        except (IndexError, ValueError):
            return  # a df of another kind: rsync will report a full disk
        if free < job.bytes:
            raise MirrorError(f"{self._place} is full: {job.bytes - free} bytes more are needed")
        if inodes is not None and inodes < 2:
            raise MirrorError(f"{self._place} has {inodes} inodes left")

    def _run(self, lines: list[str]) -> Work[str]:
        """A script for ``sh`` on the host, whatever the login shell is."""
        script = "\n".join(lines) + "\n"
        argv = [*self._ssh, self._place.host, "exec sh -s"]
        return (yield from ask(argv, script))

    def _written(self, path: str, text: str) -> list[str]:
        """Shell lines that replace a file in one step. No line of JSON equals the delimiter."""
        quoted = shlex.quote(path)
        return [
            f"cat > {quoted}.tmp <<'END-OF-RECEIPT'",
            text,
            "END-OF-RECEIPT",
            f"mv -f -- {quoted}.tmp {quoted}",
        ]

    def _target(self, job: CopyJob) -> str:
        return f"{self._place.path.rstrip('/')}/{job.place}"

    def _home(self, job: CopyJob) -> str:
        target = self._target(job)
        return target if job.folder else os.path.dirname(target)

    def _part(self, job: CopyJob) -> str:
        return f"{os.path.dirname(self._target(job))}/.{job.base}.part"


def _mask(job: CopyJob) -> str:
    """A shell line for what is made there: only its owner may read a copy that is not for all."""
    return "umask 077" if job.private else "umask 022"
