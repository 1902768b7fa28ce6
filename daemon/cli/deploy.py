"""``deploy``: bring middlewatch to a box over ssh, start it, examine it; ``--remove`` takes it away."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from middlewatch.sentinels.kit.numbers import size

from ..config.schema import environment_urls, url_lines
from ..config.trusted import keep_secret, read_config
from ..remote import manifest as manifests
from ..remote.boxes import Boxes
from ..remote.connection import Box
from ..remote.deploying import Deployed, Deployer, gather, remove
from ..remote.probe import Probe, probe
from ..system.clock import SystemClock
from ..system.errors import MiddlewatchError, UsageError
from . import console
from .context import state


def deploy(args: argparse.Namespace) -> int:
    """Install, configure, start and examine; exit 1 when something of that is bad."""
    clock, boxes = SystemClock(), Boxes(state(args).root)
    box = Box(args.host, clock)
    if args.remove:
        return _remove(args, box)
    given = Path(args.wheels) if args.wheels else None
    if given is not None and not given.is_dir():
        raise UsageError(f"there is no folder {args.wheels}", "scripts/wheelhouse makes one")
    alerts, config = _alerts(args), _config(args)
    found = probe(box, index=given is None)
    _check_alone(found)

    def say(text: str) -> None:
        if not args.json:
            console.say(text, flush=True)

    say(
        f"{args.host}: Python {found.target.python}, {found.target.machine}, glibc 2.{found.target.glibc}"
    )
    wheels = gather(_cache(), found, given)
    deployer = Deployer(box, found, clock, say)
    made = deployer.deploy(wheels, config=config, alerts=alerts, boot=args.boot)
    _remember(boxes, box, deployer.program, made)
    bad = made.doctor == "bad" or made.boot.get("state") == "failed"
    bad = bad or any(not one["ok"] for one in made.test)
    if args.json:
        console.as_json({**asdict(made), "ok": not bad})
    else:
        _show(made, deployer.program)
    return int(bad)


def _remove(args: argparse.Namespace, box: Box) -> int:
    notes = remove(box, probe(box, index=False), force=args.yes)
    if args.json:
        console.as_json({"host": args.host, "removed": True, "notes": notes})
        return 0
    console.say(f"{args.host}: removed; the runs that it watched go on")
    for note in notes:
        console.say(f"  note  {note}")
    return 0


def _check_alone(found: Probe) -> None:
    """Raises UsageError where another installation watches already: two of them push everything twice."""
    if found.other and not found.record:
        raise UsageError(
            f"{found.host} has a middlewatch already, {found.other}, which was not put there by deploy",
            "use that one, or uninstall it first (docs/install.md)",
        )


def _alerts(args: argparse.Namespace) -> str | None:
    """Alert URLs for the box, one a line: of a file, or of this shell; ``None``: none are sent."""
    if args.alert and "://" in args.alert:
        raise UsageError(
            "--alert takes a file, not a URL: every user of this machine can read a command line",
            "write it to a file of mode 600, or to standard input: --alert -",
        )
    if args.alert == "-":
        urls = url_lines(sys.stdin.read())
    elif args.alert:
        path = Path(args.alert).absolute()
        text = read_config(path, args.alert)
        if text is None:
            raise UsageError(f"there is no file {args.alert}")
        keep_secret(path, args.alert)
        urls = url_lines(text)
    else:
        urls = list(environment_urls())
    if args.alert and not urls:
        raise UsageError("--alert gave no URL", "one a line, such as ntfys://ntfy.sh/TOPIC")
    return "".join(f"{url}\n" for url in urls) or None


def _config(args: argparse.Namespace) -> str | None:
    if not args.box_config:
        return None
    try:
        return Path(args.box_config).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{args.box_config} cannot be read: {error}") from None


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "middlewatch" / "wheels"


def _remember(boxes: Boxes, box: Box, program: str, made: Deployed) -> None:
    """Keep where it is, so that pull and teardown find it."""
    told = Box(box.host, program=program).middlewatch("manifest", "--quick", "--json", ok=(0, 1))
    try:
        name = manifests.parse(told).box
    except MiddlewatchError as error:
        made.notes.append(str(error))
        return
    known = boxes.of(name.id, name.host).with_name(box.host)
    boxes.keep(replace(known, program=program, place=made.place))


def _show(made: Deployed, program: str) -> None:
    what = f"installed, {size(made.sent)} sent" if made.installed else "up to date"
    console.say(f"  program   {program} ({what})")
    boot = made.boot
    line = boot["line"] if boot["state"] == "by hand" else ""
    console.say(f"  at boot   {boot['by']}: {boot['state']}")
    if line:
        console.say(f"            {line}")
    for one in made.test:
        console.say(f"  push      {one['url']}: {'delivered' if one['ok'] else one['error']}")
    if not made.test:
        console.say("  push      nobody is called: --alert FILE")
    for note in made.notes:
        console.say(f"  note      {note}")
    console.say(f"  doctor    {made.doctor}")
    seen = "; ".join(f"{one['what']}: {one['detail']}" for one in made.coverage)
    console.say(f"  coverage  {seen}")
