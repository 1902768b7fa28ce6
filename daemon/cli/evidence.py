"""``evidence``: what the run and the box looked like when an incident was pushed."""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from ..config.secrets import mask_values
from ..report import attachments
from ..report import evidence as words
from ..system.clock import epoch
from ..system.errors import DaemonUnreachable, UsageError
from . import console
from .context import client, state
from .offline import stored_incidents

ENDINGS = (".txt", ".tar.gz", ".tgz")


def evidence(args: argparse.Namespace) -> int:
    """Print the evidence, or write it to a file."""
    if args.out and not args.out.endswith(ENDINGS):
        raise UsageError(
            "--out names a file that ends in .txt or .tar.gz", "like --out night.tar.gz"
        )
    facts: dict[str, Any] = mask_values(_facts(args))
    if args.out:
        path = Path(args.out)
        try:
            _write(facts, path)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    if args.json:
        console.as_json(facts)
    elif args.out:
        console.say(f"written to {args.out}")
    else:
        for line in words.text(facts).splitlines():
            console.say(line)
    return 0


def _facts(args: argparse.Namespace) -> dict[str, Any]:
    """Those of the moment of the push, with the incident as it is now; without them those of now."""
    stored, notes = state(args).evidence_of(args.id), list[str]()
    try:
        now: dict[str, Any] = client(args).ask("evidence", id=args.id)
        file = now.pop("file")
    except DaemonUnreachable:
        known = [
            one for one in stored_incidents(state(args), everything=True) if one["id"] == args.id
        ]
        if not known:
            raise UsageError(
                f"no incident in the store has the id {args.id!r}",
                "see `middlewatch incidents --all`",
            ) from None
        now, file = {"incident": known[0], "left_out": []}, str(stored)
        notes.append("what only a running daemon knows: it does not run")
    then = words.read(file) if file else None
    if then is not None:
        return then | {"incident": now["incident"]}
    notes.append("the facts of the moment of its push: none were kept (the newest 64 are)")
    return now | {"left_out": [*now.get("left_out", []), *notes]}


def _write(facts: dict[str, Any], path: Path) -> None:
    if path.name.endswith(".txt"):
        path.write_text(words.text(facts), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory(prefix="middlewatch-") as folder:
        made = attachments.write(facts, Path(folder))
        files = {one.name: one.read_bytes() for one in made}
    name = f"middlewatch-{facts['incident']['id']}"
    files[f"{name}.json"] = json.dumps(facts, indent=1).encode()
    when = facts.get("written_at") or facts["incident"]["opened_at"]
    with tarfile.open(path, "w:gz") as archive:
        for inside, data in files.items():
            entry = tarfile.TarInfo(f"{name}/{inside}")
            entry.size, entry.mtime, entry.mode = len(data), int(epoch(when)), 0o600
            archive.addfile(entry, io.BytesIO(data))
