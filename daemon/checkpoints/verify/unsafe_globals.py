"""Names in a pickle that no trainer writes, and that run code when the pickle is loaded in full.

They give a remark for a person, no verdict: other names may run code as well. Names that harmless
pickles contain are left out: ``builtins.getattr`` (every enum of Python 3.11),
``functools.partial``, ``types``, ``signal``.
"""

from __future__ import annotations

from collections.abc import Iterable

_MODULES = frozenset(
    {
        *(
            "os",
            "posix",
            "nt",
            "sys",
            "subprocess",
            "pty",
            "commands",
            "shutil",
            "socket",
            "ctypes",
        ),
        *(
            "importlib",
            "imp",
            "zipimport",
            "runpy",
            "code",
            "codeop",
            "marshal",
            "pickle",
            "_pickle",
        ),
        *("pdb", "bdb", "timeit", "profile", "cProfile", "webbrowser", "pip", "ensurepip"),
        *("http", "httplib", "urllib", "urllib2", "requests", "ftplib", "smtplib"),
    }
)
_NAMES = frozenset(
    {
        *("eval", "exec", "execfile", "compile", "open", "file", "input", "__import__", "apply"),
        *("breakpoint", "globals", "vars"),
    }
)
_BUILTINS = ("builtins", "__builtin__", "__builtins__")
_LOADERS = ("torch.load", "torch.serialization.load", "torch.jit.load", "numpy.load", "torch.hub.")
_SHOWN = 3


def remark(names: Iterable[str]) -> str:
    """A remark on the names (``module.name``) that a pickle would import; empty if none."""
    found = sorted(name for name in names if _is_one(name))
    if not found:
        return ""
    more = " and more" if len(found) > _SHOWN else ""
    return f"its pickle imports {', '.join(found[:_SHOWN])}{more}: unpickling it runs that"


def _is_one(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if module in _BUILTINS:
        return last in _NAMES
    return module.partition(".")[0] in _MODULES or name.startswith(_LOADERS)
