"""What a run is called: by its arguments, its script and its folder; two of one name are told apart by
an argument in which they differ, and a command that is started again keeps its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from ..config.run_spec import RunSpec
from ..config.secrets import mask_words

_NAME = re.compile(
    r"^(?:--?|\+{1,2})?(?:(?:run|exp|experiment|job|wandb|trial)[_-](?:run[_-])?name|exp(?:eriment)?|run[_-]id|name)$",
    re.IGNORECASE,
)
"""Options with which a training itself is given a name."""
GENERAL = frozenset(
    [
        "main",
        "run",
        "cli",
        "app",
        "__main__",
        "train",
        "training",
        "trainer",
        "pretrain",
        "pre_train",
        "finetune",
        "fine_tune",
        "finetuning",
        "fit",
        "start",
        "launch",
        "launcher",
        "exp",
        "experiment",
        "script",
        "job",
        "learn",
        "worker",
        "entrypoint",
        "driver",
        "demo",
        "test",
        "run_train",
        "run_training",
        "train_model",
        "start_training",
        "torchrun",
        "python",
        "python3",
        "bash",
        "sh",
    ]
)
"""Names of scripts that most trainings could have."""
_FOLDERS = GENERAL | frozenset(
    [
        "src",
        "source",
        "scripts",
        "bin",
        "code",
        "apps",
        "workspace",
        "workspaces",
        "work",
        "home",
        "root",
        "tmp",
        "var",
        "opt",
        "usr",
        "srv",
        "data",
        "mnt",
        "content",
        "examples",
        "example",
        "tools",
        "runs",
        "exps",
        "experiments",
        "projects",
        "project",
        "repo",
        "repos",
        "git",
        "github",
        "jobs",
        "models",
        "model",
        "lib",
        "notebooks",
        "trainers",
        "ubuntu",
        "user",
    ]
)
"""Names of folders that say nothing about the training in them."""
_UP = 4
"""Folders above a script that are looked at."""
LONGEST = 24
"""Characters of what tells two runs apart: the whole name is cut at 40 in an id."""
_CONFIG = re.compile(r"conf|cfg|recipe|preset|yaml", re.IGNORECASE)
_THING = re.compile(
    r"model|arch|data|task|lang|fold|split|size|variant|method|algo|env|tag|version", re.IGNORECASE
)
_OUTPUT = re.compile(r"out|save|log|dir|path|folder", re.IGNORECASE)
_OF_THE_BOX = re.compile(
    r"port|rdzv|node|nproc|nnodes|master|local_?rank|resum|ckpt|checkpoint|load|restore|host|addr|workers|verbos",
    re.IGNORECASE,
)
"""Options that differ between starts of the same training, or that say where it runs."""
_FILE = re.compile(r"\.(?:ya?ml|json|toml|cfg|ini|py|gin|jsonnet)$")
_NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?[kKmMbB]?")
_UNSAFE = re.compile(r"[^\w.+-]+")


def named_by_itself(argv: Sequence[str]) -> str:
    """The name that a command gives its training by an option; empty without one."""
    given = (_shown(value) for key, value in _arguments(argv) if _NAME.match(key))
    return next((name for name in given if re.search(r"[^\W\d_]", name) and "***" not in name), "")


def by_place(script: str, argv: Sequence[str], cwd: str) -> str:
    """The name by a script (its name without folder and suffix): itself, or if many scripts are called
    so, the package or folder that it lies in."""
    if script.lower() not in GENERAL:
        return script
    for word in argv:
        path = PurePosixPath(cwd, word)
        if path.stem == script and path.suffix in (".py", ".sh", ".ipynb"):
            return _folder(path.parent) or _folder(PurePosixPath(cwd)) or script
        parts = word.split(".")
        if (
            "/" not in word
            and len(parts) > 1
            and parts[-1] == script
            and all(map(str.isidentifier, parts))
        ):
            package = next((part for part in parts[:-1] if part.lower() not in _FOLDERS), "")
            return package or _folder(PurePosixPath(cwd)) or script
    return _folder(PurePosixPath(cwd)) or script


def _folder(path: PurePosixPath) -> str:
    """The first folder from here upwards whose name says something; empty without one."""
    for one in (path, *path.parents)[:_UP]:
        if str(one.parent) in ("/home", "/") or not one.name:
            return ""  # a home, or a folder of the system
        if one.name.lower() not in _FOLDERS and not one.name.startswith((".", "__")):
            return one.name
    return ""


def apart(
    name: str, argv: Sequence[str], others: Iterable[Sequence[str]], taken: Collection[str]
) -> str:
    """``name`` with what tells this command from the ``others`` of the same name; with a number where
    nothing does. The result is in none of ``taken``."""
    other = list(others)
    found = f"{name}-{what}" if other and (what := _difference(argv, other)) else name
    number, made = 1, found
    while made in taken:
        number += 1
        made = f"{found}-{number}"
    return made


def kept(spec: RunSpec, known: Iterable[RunSpec], taken: Collection[str]) -> str:
    """The name that the same command had in the same folder before; empty if it had none, or if it goes
    to another one now. ``known``: the runs, oldest first."""
    same = [
        one.name
        for one in known
        if one.command and (one.command, one.cwd) == (spec.command, spec.cwd)
    ]
    return next((name for name in reversed(same) if name not in taken), "")


def _difference(argv: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    """The argument of a command that none of the others has, for a name; empty without one."""
    mine = dict(_arguments(argv))
    theirs = [dict(_arguments(other)) for other in others]
    told = [
        (rank, number, shown)
        for number, (key, value) in enumerate(mine.items())
        if not _OF_THE_BOX.search(key)
        and all(other.get(key) != value for other in theirs)
        and (shown := _told(key, value, theirs)) is not None
        for rank in (_rank(key, value),)
    ]
    return min(told)[2] if told else ""


def _told(key: str, value: str, theirs: Sequence[Mapping[str, str]]) -> str | None:
    """How an argument stands in a name; ``None`` for one that says nothing there."""
    bare = key.lstrip("-+").rpartition(".")[2]
    if "***" in value or "***" in key:
        return None  # a secret
    if not value:
        return _shown(bare) or None  # a switch
    shown = _shown(value)
    if not shown or len(shown) > LONGEST:
        return None
    if any(_shown(other.get(key, "")) == shown for other in theirs):
        return None  # they differ in their folders alone
    if _NUMBER.fullmatch(value) and bare and not bare.isdigit():
        return f"{_shown(bare)}{shown}"[: 2 * LONGEST]
    return shown


def _rank(key: str, value: str) -> int:
    """The smaller, the more a person would name the run after it."""
    if _NAME.match(key):
        return 0
    if _CONFIG.search(key) or _FILE.search(value):
        return 1
    if _OUTPUT.search(key):
        return 4
    return 2 if _THING.search(key) else 3


def _shown(value: str) -> str:
    """A value as a part of a name: of a path its last part without a suffix that says nothing."""
    last = value.rstrip("/").rpartition("/")[2]
    return _UNSAFE.sub("-", _FILE.sub("", last)).strip("-.")


def _arguments(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(option, value) of a command; words that are no option by their number, switches with no value.

    What may be a secret is hidden in it.
    """
    words = mask_words(list(argv))[1:]
    number, place = 0, 0
    while number < len(words):
        word = words[number]
        number += 1
        key, equals, value = word.partition("=")
        if equals and key and not key.startswith("/"):
            yield key, value
        elif word.startswith("-") and not _NUMBER.fullmatch(word):
            following = words[number] if number < len(words) else ""
            if following and (not following.startswith("-") or _NUMBER.fullmatch(following)):
                number += 1
                yield word, following
            else:
                yield word, ""
        else:
            place += 1
            yield str(place), word
