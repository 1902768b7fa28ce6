"""What is never called: shells, evaluation, loaders that run code, listeners on the network.

Names are read from the syntax tree, imports resolved. An exception is listed with its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path for room in ("daemon", "sentinels", "tui") for path in (ROOT / room).rglob("*.py")
)

BANNED = {
    **dict.fromkeys(("os.system", "os.popen", "pty.spawn"), "runs a shell"),
    **dict.fromkeys(("subprocess.getoutput", "subprocess.getstatusoutput"), "runs a shell"),
    **dict.fromkeys(("asyncio.create_subprocess_shell", "commands.getoutput"), "runs a shell"),
    **dict.fromkeys(("eval", "exec", "compile", "__import__"), "runs what it is given"),
    **dict.fromkeys(("runpy.run_path", "runpy.run_module", "code.interact"), "runs a file"),
    **dict.fromkeys(("importlib.import_module",), "imports what it is told"),
    **dict.fromkeys(("pickle.load", "pickle.loads", "pickle.Unpickler"), "runs code in a pickle"),
    **dict.fromkeys(("marshal.load", "marshal.loads", "shelve.open"), "trusts a file"),
    **dict.fromkeys(("torch.load", "numpy.load", "joblib.load", "dill.load"), "may run a pickle"),
    **dict.fromkeys(("yaml.load", "yaml.unsafe_load", "yaml.full_load"), "may make any object"),
    **dict.fromkeys(("tempfile.mktemp", "os.tempnam", "os.tmpnam"), "names a file of others"),
    **dict.fromkeys(
        ("zipfile.ZipFile.extractall", "tarfile.open", "shutil.unpack_archive"), "unpacks"
    ),
    **dict.fromkeys(("xml.etree.ElementTree.parse", "xml.sax.parse"), "expands entities"),
}
"""Call -> what it does with what others have written."""

ALLOWED = {
    ("daemon/checkpoints/load/program.py", "torch.load"): "`weights_only=True`, in a walled child",
    ("daemon/checkpoints/load/sharded.py", "torch.load"): "`weights_only=True`, in a walled child",
    (
        "daemon/checkpoints/load/sharded.py",
        "pickle.Unpickler",
    ): "finds the classes of a description alone, in a walled child",
    (
        "daemon/cli/__init__.py",
        "importlib.import_module",
    ): "the handler of a command, from our table",
    (
        "daemon/engines/choice.py",
        "importlib.import_module",
    ): "the driver of a place, from our table",
    ("daemon/jobs/places.py", "importlib.import_module"): "the renderer of a place, from our table",
    ("daemon/cli/evidence.py", "tarfile.open"): "writes an archive, and unpacks none",
    (
        "sentinels/kit/sentinel.py",
        "importlib.import_module",
    ): "our rules, by the files that are there",
}
"""(module, call) -> why it is no danger there."""


def imported(tree: ast.AST) -> dict[str, str]:
    """Local name -> what it stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that is called, or handed on as a function. An import whose
    name stands there is as good as a statement."""
    names = imported(tree)
    plain = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
        and all(isinstance(word, ast.Constant) for word in node.args)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in plain:
            first, dot, rest = ast.unparse(node).partition(".")
            yield node.lineno, f"{names.get(first, first)}{dot}{rest}"


def dangers(path: Path) -> Iterator[tuple[str, str]]:
    """(call, place) of what is banned in one module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, name in used(tree):
        if name in BANNED:
            yield name, f"{path.relative_to(ROOT)}:{line}"


def keywords(path: Path) -> Iterator[tuple[int, str, ast.expr]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            for given in node.keywords:
                if given.arg:
                    yield node.lineno, given.arg, given.value


def test_nothing_runs_what_others_wrote() -> None:
    found = {
        (str(path.relative_to(ROOT)), name): (place, BANNED[name])
        for path in MODULES
        for name, place in dangers(path)
    }
    assert {key: told for key, told in found.items() if key not in ALLOWED} == {}
    assert [key for key in ALLOWED if key not in found] == [], "an exception that nobody needs"


def test_no_command_goes_through_a_shell() -> None:
    shells = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        for line, name, value in keywords(path)
        if name == "shell" and not (isinstance(value, ast.Constant) and value.value is False)
    ]
    assert shells == []


SHELLS = {"sh", "bash", "dash", "zsh", "/bin/sh", "/bin/bash"}


def scripts(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Line and script of every `["sh", "-c", SCRIPT, …]`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 2:
            first, second, script, *_ = node.elts
            words = [each.value for each in (first, second) if isinstance(each, ast.Constant)]
            if len(words) == 2 and words[0] in SHELLS and str(words[1]).startswith("-"):
                yield node.lineno, script


def is_ours(script: ast.expr, tree: ast.AST) -> bool:
    """A text that stands there, or a name that stands for nothing but such texts."""
    if isinstance(script, ast.Constant):
        return True
    given = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(ast.unparse(target) == ast.unparse(script) for target in node.targets)
    ]
    return bool(given) and all(isinstance(value, ast.Constant) for value in given)


def test_a_script_of_a_shell_is_ours_to_the_letter() -> None:
    """What others wrote comes to it as arguments (`"$1"`), never inside of it."""
    found = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        places = [line for line, script in scripts(tree) if not is_ours(script, tree)]
        found += [f"{path.relative_to(ROOT)}:{line}" for line in places]
    assert found == []


LISTENERS = {"bind", "listen", "create_server", "HTTPServer", "ThreadingHTTPServer", "TCPServer"}
LISTENING = {
    "daemon/service/listener.py": "the control socket, a Unix socket",
    "daemon/system/exit_status.py": "netlink: the kernel tells of processes that end",
    "daemon/box/audit_launch.py": "binds the port of a rendezvous, to see whether it is free",
    "daemon/launch/rehearsal.py": "binds a port of loopback, to find a free one",
    "tui/web.py": "the screens for a browser on loopback, with a key, while a person asks for it",
}


def test_nobody_listens_on_a_network() -> None:
    """How it looks from outside: tests/e2e/test_no_listener.py."""
    found = set()
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if {"socket", "socketserver", "http", "asyncio"} & {
            name.split(".")[0] for name in imported(tree).values()
        } and any(name.rpartition(".")[2] in LISTENERS for _, name in used(tree)):
            found.add(str(path.relative_to(ROOT)))
    assert found == set(LISTENING)


def test_the_rules_find_what_they_are_for(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import os\nfrom pickle import loads as read\nimport subprocess as s\n"
        "os.system('x')\nread(b'')\ns.getoutput('x')\nmap(eval, [])\n"
    )
    found = {name for _, name in used(ast.parse(bad.read_text())) if name in BANNED}
    assert found == {"os.system", "pickle.loads", "subprocess.getoutput", "eval"}
    tree = ast.parse("['sh', '-c', f'rm {x}']\n('bash', '-lc', y)\ny = 'a' + z\n['sh', '-c', 'ls']")
    assert [is_ours(script, tree) for _, script in scripts(tree)] == [False, False, True]
