"""The three questions of ``setup``: answered by options, by what is set already, or by a person."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..box.at_boot import AtBoot, Failed
from ..box.durability import PathDurability
from ..config.phones import shown
from ..config.schema import Config, url_lines
from ..config.trusted import keep_secret, read_config
from ..mirror.reach import reach
from ..mirror.receipt import MirrorError
from ..mirror.targets import MirrorTarget, parse, same_disk
from ..system.errors import UsageError
from ..system.mounts import readable_table
from . import asking, console
from .alert import check_url

NTFY = "ntfy.sh"
"""The public server of ntfy. A server of one's own is given as a URL."""
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""No two of them look alike: the topic may be typed on a phone."""
_GROUPS, _GROUP = 4, 4
"""16 letters of 31 are 79 bits: nobody guesses that by asking a server."""
_NEVER = ("/proc", "/sys", "/dev", "/run", "/etc", "/boot")
_ANSWERS = {
    "phone": "--alert FILE (- is standard input), --ntfy or --no-alert",
    "mirror": "--mirror PLACE or --no-mirror",
    "boot": "--boot or --no-boot",
}


@dataclass(frozen=True, slots=True)
class Before:
    """What is set already, and what this box offers."""

    config: Config
    kept: tuple[str, ...]
    """Alert URLs of the configuration and of the daemon: they outlive this shell."""
    of_shell: tuple[str, ...]
    """Alert URLs that only the environment of this shell has."""
    places: PathDurability
    boot: AtBoot


@dataclass(slots=True)
class Answers:
    """What was answered; nothing has been changed yet."""

    urls: tuple[str, ...] = ()
    """Alert URLs to add."""
    topic: str = ""
    """The topic of ntfy that was made, to be subscribed to; its URL is in ``urls``."""
    mirror: str | None = None
    """Where copies go; empty: nowhere; ``None``: as it is."""
    make: MirrorTarget | None = None
    """A place that has to be made first."""
    boot: bool = True
    warnings: list[str] = field(default_factory=list)


def gather(args: argparse.Namespace, known: Before) -> Answers:
    """All answers. Raises UsageError for a wrong one, and when one is missing and nobody can be asked."""
    if args.alert and "://" in args.alert:
        raise UsageError(
            "--alert takes a file, not a URL: every user of the box can read a command line",
            "write it to a file of mode 600, or to standard input: --alert -",
        )
    missing = [what for what in _ANSWERS if not _is_answered(what, args, known)]
    if missing and not _person(args):
        raise UsageError(
            "setup asks three questions, and there is no terminal to ask",
            "answer by options: " + "; ".join(_ANSWERS[what] for what in missing) + "; or --yes",
        )
    if missing:
        console.complain(
            "Three questions. Enter takes what is in brackets; Ctrl-C leaves everything as it is."
        )
    answers = Answers()
    _phone(args, known, answers)
    _mirror(args, known, answers)
    _boot(args, known, answers)
    return answers


def _is_answered(what: str, args: argparse.Namespace, known: Before) -> bool:
    given = {
        "phone": args.alert or args.ntfy or args.no_alert or (known.of_shell and not _person(args)),
        "mirror": args.mirror is not None or args.no_mirror,
        "boot": args.boot is not None,
    }
    return bool(given[what] or args.yes)


def _person(args: argparse.Namespace) -> bool:
    """True when somebody can be asked: with ``--alert -`` the input is the URLs."""
    return asking.can_ask() and args.alert != "-"


# ------------------------------------------------------------------------ the phone


def _phone(args: argparse.Namespace, known: Before, answers: Answers) -> None:
    if args.alert:
        urls = _read(args.alert)
        if not urls:
            raise UsageError("--alert gave no URL", "one a line, such as ntfys://ntfy.sh/TOPIC")
        for number, url in enumerate(urls, 1):
            check_url(url, f"alert URL {number} " if len(urls) > 1 else "")
        answers.urls = tuple(urls)
    elif args.ntfy:
        _take_topic(answers)
    elif args.no_alert:
        return
    elif _is_answered("phone", args, known):  # --yes, or nobody to ask
        for url in known.of_shell:
            check_url(url)
        answers.urls = known.of_shell
        if not known.kept and not known.of_shell:
            _take_topic(answers)
    else:
        _ask_phone(known, answers)


def _read(name: str) -> list[str]:
    """The URLs of a file that others cannot read, or of standard input."""
    if name == "-":
        return url_lines(sys.stdin.read())
    path = Path(name).absolute()
    text = read_config(path, name)
    if text is None:
        raise UsageError(f"there is no file {name}")
    keep_secret(path, name)
    return url_lines(text)


def _take_topic(answers: Answers) -> None:
    letters = ["".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS)]
    answers.topic = "-".join(("mw", *letters))
    answers.urls = (f"ntfys://{NTFY}/{answers.topic}",)


def _ask_phone(known: Before, answers: Answers) -> None:
    now = ", ".join(map(shown, known.kept))
    choices = {"keep": f"as it is: {now}"} if known.kept else {}
    if known.of_shell:
        choices["shell"] = f"those of this shell: {', '.join(map(shown, known.of_shell))}"
    choices["ntfy"] = "a new topic of ntfy: no account, an app or a page in the browser"
    choices["url"] = "an alert URL that you have: Telegram, Slack, e-mail, ... as Apprise writes it"
    if not known.kept:
        choices["nobody"] = "nobody"
    title = "\n1/3 Who is called when something breaks?"
    console.complain("")
    place, typed = asking.pick(title.strip(), tuple(choices.values()))
    what = list(choices)[place] if place >= 0 else "url"
    if what == "shell":
        answers.urls = known.of_shell
    elif what == "ntfy":
        _take_topic(answers)
    elif what == "url":
        first = [typed] if place < 0 else []

        def attempt() -> str:
            url = first.pop() if first else asking.ask_secret("URL")
            check_url(url)
            return url

        answers.urls = (asking.until_right(attempt),)
        console.complain(f"  {shown(answers.urls[0])}")


# ------------------------------------------------------------------------ the checkpoints


def _mirror(args: argparse.Namespace, known: Before, answers: Answers) -> None:
    now = known.config.mirror.to
    if args.no_mirror:
        answers.mirror = ""
    elif args.mirror is not None:
        target, missing = _usable(args.mirror)
        if missing and not args.yes:
            if not _person(args):
                raise UsageError(f"there is no {target}", "add --yes, and it is made")
            if not asking.agreed(f"there is no {target}; make it?", default=True):
                raise UsageError(f"there is no {target}", "name another place: --mirror PLACE")
        _take_place(answers, known, target, missing=missing)
    elif not args.yes:
        _ask_mirror(known, answers, now)


def _usable(text: str) -> tuple[MirrorTarget, bool]:
    """(the place, whether it has to be made). Raises UsageError."""
    try:
        target = parse(text)
        os.fsencode(str(target)).decode("utf-8")
        return target, reach(target) == "missing"
    except MirrorError as trouble:
        raise UsageError(str(trouble)) from None
    except UnicodeError:
        raise UsageError("the name of that place is not UTF-8") from None


def _take_place(answers: Answers, known: Before, target: MirrorTarget, *, missing: bool) -> None:
    answers.mirror = str(target)
    answers.make = target if missing else None
    answers.warnings += _risks(target, known.places)


def _risks(target: MirrorTarget, places: PathDurability) -> Iterator[str]:
    """What would be lost there together with the box."""
    if target.kind != "folder":
        return
    place = places.of(target.path)
    better = f"; {place.better}" if place.better else ""
    if place.survives_stop is False or place.survives_destroy is False:
        yield f"copies in {target.path} do not outlive the box: {place.words}{better}"
        return
    # Checkpoints lie where the person works; what is not known to last is compared with the system.
    beside = [os.getcwd()] if place.survives_destroy else [os.getcwd(), "/"]
    here = next((path for path in beside if same_disk(target.path, path)), None)
    if here is not None:
        yield f"{target.path} is on the same file system as {here}: if that is lost, so are the copies"


def _ask_mirror(known: Before, answers: Answers, now: str) -> None:
    console.complain("")
    console.complain("2/3 Where should good checkpoints outlive this box?")
    console.complain("  Verified ones are copied there and read back: a folder on another disk,")
    console.complain("  user@host:path (rsync) or remote:path (rclone); - is nowhere.")
    default = now or _suggestion(known.places) or "-"

    def attempt() -> tuple[MirrorTarget, bool] | None:
        text = asking.ask("place", default)
        if text == "-" or text == now:
            answers.mirror = None if text == now else ("" if now else None)
            return None
        target, missing = _usable(text)
        for words in _risks(target, known.places):
            console.complain(f"  {words}")
            if not asking.agreed("use it all the same?", default=False):
                raise UsageError("then another place")
        if missing and not asking.agreed(f"there is no {target}; make it?", default=True):
            raise UsageError("then another place")
        return target, missing

    found = asking.until_right(attempt)
    if found is not None:
        _take_place(answers, known, found[0], missing=found[1])


def _suggestion(places: PathDurability) -> str:
    """A folder on a file system that outlives the box; empty when none is known. Touches nothing."""
    for mount in readable_table():
        if mount.read_only or mount.point.startswith(_NEVER) or mount.point == "/":
            continue
        if places.of(mount.point).survives_destroy:
            return f"{mount.point}/middlewatch"
    return ""


# ------------------------------------------------------------------------ the start of the box


def _boot(args: argparse.Namespace, known: Before, answers: Answers) -> None:
    if args.boot is not None or args.yes:
        answers.boot = args.boot is not False
        return
    console.complain("")
    console.complain("3/3 Should the watch start with the box?")
    if known.boot.by == "by hand":
        console.complain(
            "  Neither systemd nor cron runs here. The line is printed at the end, for:"
        )
    console.complain(f"  {known.boot.words}{_there(known.boot)}")
    answers.boot = asking.agreed("start with the box?", default=True)


def _there(boot: AtBoot) -> str:
    try:
        state = boot.state()
    except (OSError, Failed):
        return ""
    words = {"same": "as it is now", "ours": "is brought up to date", "theirs": "yours is kept"}
    return f" ({words[state]})" if state in words else ""
