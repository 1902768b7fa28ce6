"""``setup``: who is called, where checkpoints outlive the box, and the start with the box.

It changes nothing before every question is answered. It can be run again: it shows what is set, and
changes only what is answered.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from ..box.at_boot import AtBoot, Failed, Wanted, way
from ..box.durability import PathDurability
from ..box.platforms import recognise
from ..config.edit import set_value
from ..config.load import load
from ..config.paths import config_file
from ..config.phones import own_urls, shown
from ..config.schema import Config, environment_urls
from ..mirror.reach import make
from ..mirror.receipt import MirrorError
from ..mirror.targets import parse
from ..system.errors import UsageError
from ..system.worker import module_argv
from . import asking, console
from .alert import test_by_daemon, write
from .context import client, state, taken_state
from .daemon import ensure, halt
from .setup_answers import NTFY, Answers, Before, gather
from .watch import watch_box

NEXT = ("middlewatch watch", "middlewatch run -- python train.py")
_PUSH = "This is the test push: your phone should ring now."


def setup(args: argparse.Namespace) -> int:
    """Ask, set everything up, and make the phone ring; exit 1 when the push or the start at boot was
    refused."""
    path = Path(args.config).absolute() if args.config else config_file()
    known = _known(args, path)
    _check_room(state(args).root)
    try:
        answers = gather(args, known)
    except KeyboardInterrupt:
        console.complain("")
        console.complain("nothing was changed")
        raise
    finally:
        known.places.close()
    taken = taken_state(args)
    restart = _save_mirror(answers, known.config.mirror.to, path)
    added = tuple(url for url in answers.urls if url not in known.kept)
    if added:
        write(taken.alert_urls, (*own_urls(taken.alert_urls), *added))
    to = known.config.mirror.to if answers.mirror is None else answers.mirror
    boot = _at_boot(args, path, to, known.config)
    done = _start(args, boot, answers, restart=restart)
    results = _ring(args, answers)
    data = {
        "phone": {
            "urls": client(args).ask("routes")["urls"],
            "added": [shown(url) for url in added],
            "file": str(taken.alert_urls),
        },
        "mirror": {"to": to or None, "changed": restart},
        **done,
        "test": results,
        "warnings": answers.warnings,
        "runs": watch_box(args) if args.watch else None,
        "next": list(NEXT),
    }
    if args.json:
        console.as_json(data)
    else:
        _report(data, boot, answers)
    refused = any(not one["ok"] for one in results)
    return int(refused or done["boot"]["state"] == "failed")


def _known(args: argparse.Namespace, path: Path) -> Before:
    """What is set now. Raises ConfigError for a configuration that is wrong: it is not touched."""
    config = load(path)
    shell = environment_urls()
    kept = own_urls(state(args).alert_urls)
    configured = tuple(url for url in config.alert_urls if url not in shell)
    return Before(
        config=config,
        kept=tuple(dict.fromkeys((*configured, *kept))),
        of_shell=tuple(url for url in dict.fromkeys(shell) if url not in kept),
        places=PathDurability.of_box(config),
        boot=_at_boot(args, path, config.mirror.to, config),
    )


def _check_room(folder: Path) -> None:
    """Raises UsageError when nothing can be kept there: said before the questions, not after them."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(
            f"the state directory {folder} cannot be used: {there} may not be written to",
            "name another with --state-dir or $MIDDLEWATCH_STATE_DIR",
        )


def _save_mirror(answers: Answers, now: str, path: Path) -> bool:
    """Make the place, and have the configuration name it; True when that is a change."""
    if answers.mirror is None:
        return False
    if answers.make is not None:
        try:
            make(answers.make)
        except MirrorError as trouble:
            raise UsageError(str(trouble)) from None
    return answers.mirror != now and set_value(path, "mirror", "to", answers.mirror)


def _at_boot(args: argparse.Namespace, path: Path, to: str, config: Config) -> AtBoot:
    """How the watch can start with this box, writing to the mirror ``to`` as well."""
    home = state(args).root
    own = args.state_dir or os.environ.get("MIDDLEWATCH_STATE_DIR")
    variables, writable = [], []
    # What cron and systemd start has another environment than this shell.
    if own or (os.geteuid() != 0 and os.environ.get("XDG_STATE_HOME")):
        variables.append(("MIDDLEWATCH_STATE_DIR", str(home)))
        writable.append(str(home))
    named = args.config or os.environ.get("MIDDLEWATCH_CONFIG")
    if named or (os.geteuid() != 0 and os.environ.get("XDG_CONFIG_HOME")):
        variables.append(("MIDDLEWATCH_CONFIG", str(path)))
    if to:
        try:
            target = parse(to)
        except MirrorError:  # its program is not installed now
            target = None
        if target is not None and target.kind == "folder":
            writable.append(target.path)
    wanted = Wanted(_program(), tuple(variables), tuple(writable))
    return way(wanted, recognise(name=config.platform.name), os.environ)


def _program() -> tuple[str, ...]:
    """The command of this installation, whatever PATH cron and systemd have."""
    beside = Path(sys.executable).with_name("middlewatch")
    return (str(beside),) if beside.is_file() else module_argv("middlewatch.daemon.cli")


def _start(
    args: argparse.Namespace, boot: AtBoot, answers: Answers, *, restart: bool
) -> dict[str, Any]:
    """Have the daemon start with the box if that is wanted, and run now with what was set."""
    told: dict[str, Any] = {"by": boot.by, "path": boot.path or None, "line": None, "notes": []}
    told["state"] = "left" if not answers.boot else ("by hand" if boot.by == "by hand" else "set")
    if boot.by in ("by hand", "cron"):
        told["line"] = boot.line
    unit = boot.by.startswith("systemd")
    began = False
    if answers.boot:
        try:
            fresh = boot.state() != "same"
            told["notes"] = boot.put()
            if unit and (fresh or restart or not boot.active()):
                if not boot.active():
                    halt(args)  # two daemons never share one state directory
                boot.restart()
                began = True
        except (Failed, OSError) as error:
            told["state"] = "failed"
            told["notes"] = [str(error)]
    elif unit and boot.active() and restart:
        boot.restart()
        began = True
    if restart and not began:
        halt(args)
    daemon = ensure(args)
    again = began or (restart and not daemon["started"])
    about = {key: daemon[key] for key in ("pid", "state_dir")}
    return {"boot": told, "daemon": about | {"started": bool(daemon["started"] or again)}}


def _ring(args: argparse.Namespace, answers: Answers) -> list[dict[str, Any]]:
    """The results of a test push by the daemon, once the person has subscribed to a new topic."""
    if answers.topic and not args.json:
        console.say("")
        console.say(f"Subscribe on your phone now: topic {answers.topic} at {NTFY}")
        console.say(f"  in the ntfy app, or in a browser: https://{NTFY}/{answers.topic}")
        console.say("  who knows the topic can read what is pushed: it is a secret")
        if asking.can_ask() and not args.yes:
            with contextlib.suppress(asking.NoAnswer):
                asking.ask("Enter when that is done")
    if not args.json:
        console.say("", flush=True)
    try:
        return test_by_daemon(args)
    except UsageError as error:  # no service has answered in time
        return [{"url": "all", "ok": False, "error": str(error)}]


def _report(data: dict[str, Any], boot: AtBoot, answers: Answers) -> None:
    for one in data["test"]:
        verdict = "delivered" if one["ok"] else f"FAILED: {one['error']}"
        console.say(f"{one['url']}: {verdict}")
    if any(one["ok"] for one in data["test"]):
        console.say(_PUSH)
    elif data["test"]:
        console.say("no push arrived: run setup again with another URL, or see the error above")
    else:
        console.say(
            "nobody is called: set a phone with middlewatch setup, or middlewatch alert add"
        )
    mirror, told = data["mirror"]["to"], data["boot"]
    console.say(f"  checkpoints  {f'copied to {mirror}' if mirror else 'no copies'}")
    console.say(f"  at boot      {_boot_words(told, boot)}")
    if told["state"] == "by hand":
        console.say(f"    {told['line']}")
    for note in told["notes"]:
        console.say(f"  note         {note}")
    for words in answers.warnings:
        console.say(f"  warning      {words}")
    console.say(
        f"  watch        pid {data['daemon']['pid']}, state in {data['daemon']['state_dir']}"
    )
    if data["runs"] is not None:
        watched = ", ".join(str(one["name"]) for one in data["runs"])
        console.say(f"  runs         {watched or 'none yet'}; new ones are found as they come")
    console.say("")
    program = Path(_program()[0])
    if program.name == "middlewatch" and not _on_path(program):
        bin_ = shlex.quote(str(program.parent))
        console.say(f"first: export PATH={bin_}:$PATH    (so that this shell finds middlewatch)")
    looked = data["runs"] is not None
    if data["runs"]:
        console.say("next: middlewatch tui    (or, without a screen: middlewatch status)")
    elif not looked:
        console.say(f"next: {NEXT[0]}    (a training that is already going)")
    if not data["runs"]:
        word = "next:" if looked else "or:  "
        console.say(f"{word} {NEXT[1]}    (one that you start now)")


def _on_path(program: Path) -> bool:
    """Whether a shell like the one of this call finds this installation."""
    found = shutil.which("middlewatch")
    return found is not None and program.samefile(found)


def _boot_words(told: dict[str, Any], boot: AtBoot) -> str:
    if told["state"] == "set":
        return boot.words
    if told["state"] == "by hand":
        return f"not set: nothing here starts it. {boot.hint}. The line:"
    return "not set" if told["state"] == "left" else "FAILED"
