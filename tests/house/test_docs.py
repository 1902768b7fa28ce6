"""The docs say what the code does, or the build fails.

Generated parts (handbook, configuration, commands, import layers) are compared with what the
code says now; ``python tests/house/test_docs.py --write`` brings them up to date. Hand-written parts
are checked for what they must name, and their links, commands and examples for being true.
One case a rule: a failure lists every offender.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import shlex
import sys
import textwrap
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from middlewatch import __version__
from middlewatch.daemon.cli.arguments import build
from middlewatch.daemon.config import load, run_spec
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.platform_facts import facts_of_all
from middlewatch.daemon.config.schema import SECTIONS, Route
from middlewatch.daemon.jobs import read as jobs
from middlewatch.daemon.jobs.job import TABLES, Phase
from middlewatch.daemon.judge import causes, incidents
from middlewatch.daemon.launch.exit_record import ExitRecord
from middlewatch.daemon.report import outbox
from middlewatch.daemon.service import app, publishing, server
from middlewatch.daemon.sources import checkpoint_dir, disk, nvml, processes
from middlewatch.daemon.system import errors
from middlewatch.daemon.system.store_schema import SCHEMA
from middlewatch.sentinels.handbook import TOPICS, pages
from middlewatch.sentinels.kit import (
    Observation,
    RunFacts,
    Sentinel,
    View,
    discover,
    findings,
    handbook,
    observations,
)
from middlewatch.sentinels.kit.classes import CLASSES, Group
from middlewatch.sentinels.kit.handbook import LABELS, RETRIES, HandbookPage
from middlewatch.sentinels.kit.own_rules import OwnRule

sys.path.insert(0, str(Path(__file__).parent))
from man_page import man_page  # type: ignore[import-not-found]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SENTINELS = discover()
RULES = handbook()
"""What a sentinel's docstring says."""
BOOK = pages()
"""The page of every class."""
WRITE = "python tests/house/test_docs.py --write"
NOTE = f"<!-- Generated from the code. Change it there, then: {WRITE} -->"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def number_word(value: float) -> str:
    return ("no", "one", "two", "three", "four", "five", "six", "seven")[int(value)]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(head)]
    lines.append(" | ".join("---" for _ in lines[0].split(" | ")))
    lines += [" | ".join(cell.replace("|", "\\|") or " " for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


# ------------------------------------------------------------------------ generated: configuration


@dataclasses.dataclass(frozen=True)
class Key:
    """One key of the configuration file."""

    name: str
    kind: str
    default: str
    """As it is written in the file."""
    sentence: str


def keys_of(section: Any) -> Iterator[Key]:
    """The keys of a section, from the dataclass it fills."""
    cls = type(section)
    shown = {kept: key for key, kept in getattr(cls, "SAVED", {}).items()}
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    for field, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if field.target.id.isupper():
            continue
        told = after.value if isinstance(after, ast.Expr) else None
        assert isinstance(told, ast.Constant), f"{cls}: {field.target.id} has no sentence"
        name = field.target.id
        value = getattr(section, name)
        sentence = " ".join(str(told.value).split())
        kind = _kind(ast.unparse(field.annotation), name)
        yield Key(shown.get(name, name), kind, _toml(value, name), sentence)


def _is_duration(name: str) -> bool:
    return name.endswith("_s") and not name.endswith("_per_s")


def _kind(annotation: str, name: str) -> str:
    if annotation.startswith("Literal") or annotation == "SeverityName":
        return "text"
    if annotation.startswith("tuple"):
        return "list of " + ("durations" if _is_duration(name) else "texts")
    if annotation in ("int", "float") and _is_duration(name):
        return "duration"
    if annotation in ("int", "float") and name.endswith("_bytes"):
        return "size"
    if annotation == "Launcher":
        return "text"
    if annotation.startswith("Mapping"):
        return "table of texts"
    words = {"bool": "true or false", "int": "whole number", "float": "number", "str": "text"}
    return (words | {"float | None": "number", "Any": "number or share"})[annotation]


def _toml(value: Any, name: str) -> str:
    if value is None:
        return "not set"
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(each, name) for each in value)}]"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if _is_duration(name):
        units = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
        unit, seconds = next(u for u in units if (value % u[1] == 0 and value >= u[1]) or u[1] == 1)
        return f'"{value / seconds:g}{unit}"'
    if name.endswith("_bytes"):
        fitting = (u for u in ("TiB", "GiB", "MiB", "KiB") if value and value % _SIZES[u] == 0)
        unit = next(fitting, "B")
        return f'"{value // _SIZES[unit]}{unit}"'
    return f"{value:.15g}"


_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _section(section: Any) -> str:
    rows = ([f"`{k.name}`", k.kind, f"`{k.default}`", k.sentence] for k in keys_of(section))
    return table(("key", "kind", "default", "meaning"), rows)


def platforms() -> str:
    """Every platform and what its storage outlives."""
    rows = []
    for key, fact in facts_of_all().items():
        for place in fact["place"]:
            path = PLACES.get(place["path"], f"`{place['path']}`")
            given = f", while `{place['env']}` is set" if "env" in place else ""
            told = [ANSWERS[place.get(kind)] for kind in ("stop", "destroy")]
            rows.append([f"{fact['name']} (`{key}`)", path + given, *told, place["where"]])
    return table(("platform", "place", "stop", "destroy", "what it is"), rows)


PLACES = {
    "@layer": "the container",
    "@network": "network mounts",
    "@mounted": "other mounts",
    "@empty-dir": "emptyDir",
}
ANSWERS = {True: "yes", False: "no", None: "unknown"}


def limits() -> str:
    """Every limit of every sentinel."""
    parts = []
    for name, sentinel in SENTINELS.items():
        page = f"handbook/rules/{name}.md"
        parts.append(f"### `[sentinels.{name}]`\n\n[{RULES[name].title}]({page})")
        parts.append(_section(sentinel.limits))
    return "\n\n".join(parts)


# ------------------------------------------------------------------------ generated: the handbook


def notices() -> str:
    """Every class, by topic."""
    rows = []
    for topic in TOPICS:
        names = [e.name for e in BOOK.values() if e.sections["Topic"] == topic]
        links = (f"[`{name}`](docs/handbook/{name}.md)" for name in names)
        rows.append([topic, ", ".join(links)])
    return table(("about", "what it notices"), rows)


def rules_table() -> str:
    """Every rule, for the index of the handbook."""
    rows = ([f"[`{e.name}`](rules/{e.name}.md)", e.title] for e in RULES.values())
    return table(("rule", "what has happened"), rows)


TITLES = {"Not": "What not to do", "Retry": "Trying again", "See": "See also", "Sources": "Why so"}


def class_page(entry: HandbookPage) -> str:
    """What to do about one class, from its text."""
    rule = next((r.name for r in RULES.values() if entry.name in r.classes), None)
    told = f", reported by the rule [`{rule}`](rules/{rule}.md)" if rule else ""
    parts = [NOTE, f"# {entry.name}", entry.title, f"*{entry.sections['Topic']}*{told}"]
    for label in ("Symptom", "Confirm", "Cause", "Remedy", "Not", "Retry", "Sources", "See"):
        if label not in entry.sections:
            continue
        parts.append(f"## {TITLES.get(label, label)}")
        if label == "Confirm":
            parts += [f"```sh\n{c.command}\n```\n\n{c.expect}" for c in entry.checks]
        elif label == "Remedy":
            parts.append(_ladder(entry))
        elif label == "See":
            parts.append(" ".join(f"[`{name}`]({name}.md)" for name in entry.words("See")))
        else:
            parts.append(entry.sections[label])
    return "\n\n".join(parts) + "\n"


def rule_page(entry: HandbookPage) -> str:
    """How one sentinel decides, from its docstring: what to do is said by class only."""
    parts = [NOTE, f"# {entry.name}", entry.title]
    for label, title in (("Decides", "How it decides"), ("Sources", "Why so")):
        parts += [f"## {title}", _sentence(entry.sections.get(label, ""))]
    rows = ([f"[`{c}`](../{c}.md)", BOOK[c].title] for c in entry.classes if c in BOOK)
    parts += ["## Classes", "What to do is on the page of each class."]
    parts += [table(("class", "what has happened"), rows), "## Limits"]
    parts.append(f"Section `[sentinels.{entry.name}]` of the [configuration]")
    parts[-1] += "(../../configuration.md); `enabled = false` switches it off."
    parts.append(_section(SENTINELS[entry.name].limits))
    return "\n\n".join(parts) + "\n"


def _ladder(entry: HandbookPage) -> str:
    steps = enumerate(entry.steps, 1)
    return "\n".join(f"{n}. *{'safe' if s.safe else 'costly'}*: {s.text}" for n, s in steps)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


INDEX_HEAD = """\
One page per class of trouble: what it looks like, how to be sure, what to do first. Every incident,
push and finding names its class. On the box: `middlewatch explain CLASS`.

The commands under *Confirm* change nothing. Replace the words in capitals: `PID` of a process of the
run, its `LOG` (`RANK_LOG`: the log of one rank), `PATH` of a checkpoint, `DIR` with checkpoints or
other files, `MOUNT` point, `HOST` name, `ID` of the Slurm job, `DEST` to copy to (a folder,
`user@host:path` or an rclone remote). Steps marked *safe* cost and end nothing; *costly* ones take
time, money or data, so read the whole page before them."""


def handbook_index() -> str:
    """All classes by topic, and all rules."""
    parts = [
        NOTE,
        "# Handbook",
        INDEX_HEAD,
        "## Classes",
    ]
    for topic in TOPICS:
        rows = [
            [f"[`{e.name}`]({e.name}.md)", e.title, RETRY_WORDS[e.retry]]
            for e in BOOK.values()
            if e.sections["Topic"] == topic
        ]
        parts += [f"### {_sentence(topic)}", table(("class", "what has happened", "retry"), rows)]
    parts += [
        "## Rules",
        "What decides that a class has happened: one page per sentinel, with its limits.",
        rules_table(),
    ]
    return "\n\n".join(parts) + "\n"


RETRY_WORDS = {word: told for told, word in RETRIES.items()}


# ------------------------------------------------------------------------ generated: the rest

COMMON = ("--help", "--state-dir", "--config")
"""Options of every command, told once."""


def commands() -> dict[str, argparse.ArgumentParser]:
    """Every command by name."""
    (sub,) = (a for a in build()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(sub.choices)


def _positional(action: argparse.Action) -> str:
    if action.choices:
        return "|".join(action.choices)
    name = str(action.metavar or action.dest.upper())
    return {"?": f"[{name}]", "*": f"[{name}…]", "+": f"{name}…"}.get(str(action.nargs), name)


def command_reference() -> str:
    """Every command with its options and its example."""
    parts = []
    for name, parser in commands().items():
        actions = [a for a in parser._actions if not set(COMMON) & set(a.option_strings)]
        given = [_positional(a) for a in actions if not a.option_strings]
        usage = " ".join(["middlewatch", name, "[OPTION…]", *given])
        parts += [f"### {name}", str(parser.description), f"```text\n{usage}\n```"]
        rows = []
        for action in actions:
            shown = action.option_strings[0] if action.option_strings else _positional(action)
            if action.option_strings and action.nargs != 0:
                values = "|".join(action.choices or [str(action.metavar or action.dest.upper())])
                shown += f" {values}"
            told = (action.help or "") + (", required" if action.option_strings and action.required else "")  # fmt: skip
            rows.append([f"`{shown}`", told])
        if rows:
            parts.append(table(("option", "meaning"), rows))
        example = str(parser.epilog).removeprefix("example: ")
        parts.append(f"Example: `{example}`")
    return "\n\n".join(parts)


def causes_table() -> str:
    """The order of causes: groups of the same number stand on one line."""
    ranks = sorted({group.rank for group in Group})
    rows = []
    for rank in ranks:
        groups = [group for group in Group if group.rank == rank]
        names = (f"`{c.name}`" for c in CLASSES if c.rank == rank)
        rows.append([str(rank + 1), ", ".join(g.title for g in groups), " ".join(names)])
    return table(("place", "group", "classes"), rows)


def layers() -> str:
    """The import contracts of pyproject.toml, as an ordered list."""
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    inside = next(c for c in contracts if c["name"] == "inside the daemon")
    lines = []
    for number, layer in enumerate(inside["layers"], 1):
        names = re.findall(r"\w+", layer)
        lines.append(f"{number}. {', '.join(f'`{n}`' for n in names)}")
    return "\n".join(lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "notices": notices,
    "platforms": platforms,
    **{f"job_{name}": partial(_section, cls()) for name, (_, cls) in TABLES.items()},
    "job_phase": partial(_section, Phase()),
    **{name: partial(_section, cls()) for name, cls in SECTIONS.items()},
    "route": partial(_section, Route()),
    "rule": partial(_section, OwnRule()),
    "limits": limits,
    "commands": command_reference,
    "causes": causes_table,
    "layers": layers,
}
BLOCK = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)


def filled(text: str) -> str:
    """``text`` with every ``<!-- name -->`` block as the code has it now."""
    return BLOCK.sub(
        lambda m: f"<!-- {m['name']} -->\n\n{BLOCKS[m['name']]()}\n\n<!-- /{m['name']} -->", text
    )


@cache
def generated() -> dict[Path, str]:
    """Every file that is generated, or has a generated part, as it should be."""
    folder = DOCS / "handbook"
    found = {folder / f"{name}.md": class_page(e) for name, e in BOOK.items()}
    found |= {folder / "rules" / f"{name}.md": rule_page(e) for name, e in RULES.items()}
    found[folder / "index.md"] = handbook_index()
    found[DOCS.parent / "src" / "man" / "middlewatch.1"] = man_page()
    for path in (ROOT / "README.md", *DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            found[path] = filled(text)
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_generated_parts_are_up_to_date() -> None:
    stale = [
        name_of(path)
        for path, text in generated().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], f"run {WRITE}"


def test_the_handbook_has_no_page_of_what_is_gone() -> None:
    assert {p.stem for p in (DOCS / "handbook").glob("*.md")} == {"index", *BOOK}
    assert {p.stem for p in (DOCS / "handbook" / "rules").glob("*.md")} == set(RULES)


def test_every_block_is_somewhere() -> None:
    texts = [ROOT / "README.md", *DOCS.glob("*.md")]
    used = {m["name"] for p in texts for m in BLOCK.finditer(p.read_text(encoding="utf-8"))}
    assert used == set(BLOCKS)


def test_the_printed_defaults_are_the_defaults() -> None:
    sections = {name: cls() for name, cls in SECTIONS.items()}
    sections |= {f"sentinels.{name}": s.limits for name, s in SENTINELS.items()}
    written = "\n".join(
        f"[{name}]\n" + "\n".join(f"{k.name} = {k.default}" for k in keys_of(section))
        for name, section in sections.items()
    )
    read = load.parse(written, "defaults.toml")
    assert {name: getattr(read, name) for name in SECTIONS} == {n: sections[n] for n in SECTIONS}
    assert dict(read.limits) == {name: s.limits for name, s in SENTINELS.items()}


# ------------------------------------------------------------------------ what must be named


def missing(names: Iterable[object], page: str) -> list[str]:
    """Those that ``page`` does not name in code font."""
    text = text_of(page)
    shown = set(re.findall(r"`([^`\n]+)`", text)) | set(re.findall(r'"(\w+)":', text))
    return sorted({str(n) for n in names} - shown)


def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module))


def function(module: str, name: str) -> ast.FunctionDef:
    nodes = (n for n in ast.walk(tree_of(module)) if isinstance(n, ast.FunctionDef))
    return next(n for n in nodes if n.name == name)


def dict_keys(tree: ast.AST) -> set[str]:
    """Every key of every dict that is spelled out, and of ``x["key"] = …``."""
    keys: set[str] = set()
    for node in ast.walk(tree):
        found: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            found = list(node.keys)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found = [node.slice]
        keys |= {n.value for n in found if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return keys


def daemon_sources() -> str:
    return "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "daemon").rglob("*.py"))


def test_commands_page_tells_every_exit_code() -> None:
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    codes = {0, 1, *(getattr(e, "exit_code", 5) for e in kinds)}
    told = re.findall(r"^\| (\d+) \|", text_of("docs/commands.md"), re.MULTILINE)
    assert codes <= {int(code) for code in told}


def test_commands_page_tells_when_each_command_answers_1() -> None:
    told = text_of("docs/commands.md").partition("## Exit codes")[2].partition("\n## ")[0]
    bad = {
        "status",
        "incidents",
        "checkpoints",
        "verify",
        "replay",
        "audit",
        "doctor",
        "alert",
        "watch",
        "drill",
        "setup",
    }
    assert bad <= set(re.findall(r"`(\w+)`", told))


def test_configuration_page_names_every_variable() -> None:
    used = set(re.findall(r"\b(?:MIDDLEWATCH_[A-Z_]+|XDG_[A-Z_]+|NO_COLOR)\b", daemon_sources()))
    assert missing((f"${name}" for name in used), "docs/configuration.md") == []


def test_wire_format_tells_every_question_and_field() -> None:
    ops = dict_keys(function("daemon/service/handlers.py", "handlers"))
    fields = dict_keys(tree_of("daemon/report/facts.py")) | dict_keys(
        tree_of("daemon/service/handlers.py")
    )
    fields |= dict_keys(function("daemon/service/watched_run.py", "status"))
    fields |= dict_keys(function("daemon/service/context.py", "status"))
    fields |= dict_keys(function("daemon/service/server.py", "_no"))
    fields |= {f.name for f in dataclasses.fields(run_spec.RunSpec)}
    assert missing(ops | fields, "docs/wire-format.md") == []
    assert missing(typing.get_args(incidents.ChangeKind), "docs/wire-format.md") == []


def test_files_page_tells_the_status_page() -> None:
    page = function("daemon/report/status_page.py", "page")
    titles = {
        n.elts[0].value
        for n in ast.walk(page)
        if isinstance(n, ast.Tuple) and isinstance(n.elts[0], ast.Constant)
    }
    assert {"Now", "Risks", "Checkpoints", "Box", "Watch"} <= titles
    assert missing(titles, "docs/files.md") == []
    assert missing(typing.get_args(run_spec.RunState), "docs/files.md") == []


def test_files_page_tells_every_file_and_table() -> None:
    state = StateDir(Path("state"))
    paths = [v for v in vars(state).values() if isinstance(v, Path) and v != state.root]
    paths += [state.status_page("run"), state.checkpoint_index("run")]
    assert missing([p.name for p in paths], "docs/files.md") == []
    stored = re.findall(r"create (?:table|view) if not exists (\w+)", SCHEMA)
    kinds = re.findall(r"\.put\(\s*\"(\w+)\"", daemon_sources())
    assert kinds
    assert missing([*stored, *kinds], "docs/files.md") == []


def test_files_page_tells_the_index_and_the_exit_record() -> None:
    keys = dict_keys(function("daemon/checkpoints/index.py", "build"))
    keys |= dict_keys(function("daemon/checkpoints/index.py", "_entry"))
    states = typing.get_args(observations.VerifiedState)
    record = [f.name for f in dataclasses.fields(ExitRecord)]
    assert missing({*keys, *states, *record}, "docs/files.md") == []


def test_coverage_page_tells_every_source_and_its_states() -> None:
    named = re.findall(
        r'^    name = "(\w+)"|self\.name = f?"(\w+):', daemon_sources(), re.MULTILINE
    )
    sources = {one or other for one, other in named}
    assert {"nvml", "disk", "log_tail", "checkpoint_dir"} <= sources
    states = typing.get_args(observations.SourceStateName)
    assert missing(sources | set(states), "docs/coverage.md") == []


def test_sentinel_guide_tells_all_a_rule_can_use() -> None:
    kinds = [kind.__name__ for kind in typing.get_args(Observation)]
    fields = [f.name for cls in (View, Sentinel, findings.Finding) for f in dataclasses.fields(cls)]
    facts = [f.name for f in dataclasses.fields(RunFacts)]
    evidence = typing.get_args(findings.EvidenceKind)
    names = [*kinds, *fields, *facts, *evidence, *(f"{label}:" for label in LABELS)]
    assert missing(names, "docs/adding-a-sentinel.md") == []


def test_architecture_page_names_every_room_and_part() -> None:
    top = [p.stem for p in (ROOT / "daemon").iterdir() if p.suffix == ".py" or p.is_dir()]
    kept = [n for n in top if not n.startswith("_")]
    text = text_of("docs/architecture.md")
    assert [n for n in kept if not re.search(rf"`(?:daemon/)?{n}(?:\.py|/)?`", text)] == []


FIGURES = (
    ("docs/phone.md", f"at most {outbox.WARNINGS_A_DAY} a day"),
    ("docs/phone.md", f"for {number_word(outbox.GIVE_UP_S / 86400)} days"),
    ("docs/phone.md", f"within {number_word(causes.JOIN_S / 60)} minutes"),
    (
        "docs/decisions/0007-warnings-are-pushed-with-a-budget.md",
        f"At most {outbox.WARNINGS_A_DAY} ",
    ),
    ("docs/files.md", f"at least every {app.SAVE_S:.0f} seconds"),
    ("docs/files.md", f"the newest {publishing.KEEP_DOCS:,} incidents and pushes"),
    ("docs/files.md", f"{checkpoint_dir.FILE_PATIENCE_S:.0f} s (a file) or "),
    ("docs/files.md", f"or {checkpoint_dir.FOLDER_PATIENCE_S:.0f} s (a folder)"),
    ("docs/wire-format.md", f"{server.MAX_CLIENTS} clients at most"),
    ("docs/architecture.md", f"overdue after {nvml.DEADLINE_S:.0f} s"),
    ("docs/architecture.md", f"is overdue after {disk.DEADLINE_S:.0f} s"),
    ("docs/coverage.md", f"at most {disk.MOST_CHILDREN} such mounts"),
    ("docs/coverage.md", f"more than {processes.MOST} processes"),
)
"""Numbers that the text repeats from the code."""


def test_figures_in_the_text_are_those_of_the_code() -> None:
    said = {page: " ".join(text_of(page).split()) for page, _ in FIGURES}
    assert [(page, phrase) for page, phrase in FIGURES if phrase not in said[page]] == []


# ------------------------------------------------------------------------ examples are true

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
FRAGMENTS = sorted((ROOT / "changelog.d").glob("*.md"))
LINKED = [*PAGES, *FRAGMENTS, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def fences(path: Path, *languages: str) -> list[str]:
    found = FENCE.findall(path.read_text(encoding="utf-8"))
    return [body for language, body in found if language in languages]


def shown_commands(path: Path) -> Iterator[str]:
    """The lines of a page that are one of our commands."""
    for line in "\n".join(fences(path, "sh", "console")).splitlines():
        if re.match(r"(?:\$ )?(?:middlewatch|mw) ", line):
            yield line


def test_commands_shown_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    parser, refused = build(), []
    for path in PAGES:
        for line in shown_commands(path):
            words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
            words = words[: next((i for i, w in enumerate(words) if w in "|>>&&;"), len(words))]
            try:
                parser.parse_args(words)
            except SystemExit as stop:
                said = capsys.readouterr().err
                if stop.code:
                    refused.append(f"{name_of(path)}: {line}: {said}")
    assert refused == []


def test_examples_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIDDLEWATCH_ALERT_URLS", raising=False)
    unread: list[str] = []

    def read(path: Path, reader: Callable[[str], object], language: str) -> None:
        for body in fences(path, language):
            try:
                reader(body)
            except (errors.ConfigError, SyntaxError, ValueError) as error:
                unread.append(f"{name_of(path)}: {error} in\n{body}")

    for path in PAGES:
        read(path, _toml_example, "toml")
        read(path, json.loads, "json")
        read(path, ast.parse, "python")
    assert unread == []


def _toml_example(body: str) -> object:
    """A job file if it has the table for that, else a configuration."""
    if re.search(r"^\[job\]", body, re.MULTILINE):
        return jobs.parse(body, "example")
    return load.parse(body, "example")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_alert_urls_shown_are_known_to_apprise() -> None:
    import apprise  # half a second, for this test only

    page = text_of("docs/phone.md")
    urls = re.findall(r"`([a-z]+://[^`]+)`", page) + re.findall(
        r'^  "(\w+://[^"]+)"', page, re.MULTILINE
    )
    assert len(urls) > 10
    values = {"HOST": "host.example", "BOT_TOKEN": "123456789:" + "a" * 35, "CHAT_ID": "12315544"}
    values["bot-token/chat-id"] = "a" * 35 + "/12315544"
    for url in urls:
        real = url
        for name, value in values.items():
            real = real.replace(name, value)
        real = re.sub(r"[A-Z]+_?(?:KEY|TOKEN)\b|\bSECRET\b", "a" * 32, real)
        assert apprise.Apprise.instantiate(real) is not None, url


# ------------------------------------------------------------------------ links and words

LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")


def plain(path: Path) -> str:
    """The text of a page without its code blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", plain(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken_links(path: Path) -> Iterator[str]:
    for link in LINK.findall(plain(path)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield f"{name_of(path)}: {link}"


def test_links_lead_somewhere() -> None:
    assert [link for path in LINKED for link in broken_links(path)] == []


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(plain(page)))
        waiting += [(page.parent / link).resolve() for link in links if link and ":" not in link]
    assert [name_of(p) for p in DOCS.rglob("*.md") if p not in reached] == []


def test_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) < 150


def test_changelog_has_this_version() -> None:
    release = re.split(r"\.post|\+", __version__)[0]  # between two releases: 0.1.0.post3+5ab1e55
    assert f"## [{release}]" in text_of("CHANGELOG.md")


def test_decisions_are_numbered_and_say_what_was_given_up() -> None:
    pages = sorted((DOCS / "decisions").glob("*.md"))
    assert [p.name[:4] for p in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]
    for page in pages:
        heads = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert heads == ["Question", "Decision", "Why", "What it costs"], page.name


def test_the_picture_is_whole_and_fits_dark_and_light() -> None:
    text = text_of("docs/architecture.svg")
    root = ET.fromstring(text)
    assert root.find("{*}title") is not None
    assert "prefers-color-scheme: dark" in text
    shown = " ".join(root.itertext())
    wanted = ("middlewatch daemon", "NVML worker", "notifier", "verifier", "disk worker")
    assert [w for w in (*wanted, "supervisor", "sentinels", "incidents") if w not in shown] == []


# In pieces, so that no search for these words finds this file.
BANNED = re.compile(
    r"(?<![\w~.-])/" + r"work/|/tmp/" + r"mw|\bhel" + r"pers?\b|\bTO" + r"DO\b|\bsub" + r"agent"
    r"|\bblazing|\bseamless|\bpowerful|\beffortless|\brevolution|\bcutting-edge|\bsimply\b"
    r"|(?<!SSH )(?<!tmux )(?<!this )(?<!login )\bsess" + r"ions?\b(?!'s log-out)",
    re.IGNORECASE,
)  # fmt: skip


def test_words_are_sober() -> None:
    found = [
        f"{name_of(path)}:{number}: {said[0]}"
        for path in (*LINKED, DOCS / "architecture.svg")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (said := BANNED.search(line))
    ]
    assert found == []


def main() -> int:
    """Write what is generated."""
    if sys.argv[1:] != ["--write"]:
        print(f"usage: {WRITE}", file=sys.stderr)
        return 2
    wanted = generated()
    for path in (DOCS / "handbook").rglob("*.md"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name_of(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
