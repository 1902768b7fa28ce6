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
        # Further ones of the lists of picklescan, modelscan and fickling (scripts/bench-scanners).
        *("aiohttp", "imaplib", "nntplib", "poplib", "socketserver", "telnetlib", "xmlrpc"),
        *("asyncio", "atexit", "pexpect", "site", "sqlite3", "_sqlite3", "syslog", "tempfile"),
        *("compileall", "distutils", "doctest", "idlelib", "lib2to3", "linecache", "pkgutil"),
        *("py_compile", "pydoc", "shelve", "unittest", "venv", "zipfile"),
        *("_aix_support", "_osx_support", "_posixsubprocess", "_pyrepl", "_ctypes", "_imp"),
        *("_frozen_importlib", "_frozen_importlib_external", "tarfile", "fileinput"),
    }
)
_NAMES = frozenset(
    {
        *("eval", "exec", "execfile", "compile", "open", "file", "input", "__import__", "apply"),
        *("breakpoint", "globals", "vars"),
    }
)
_BUILTINS = ("builtins", "__builtin__", "__builtins__")
_LOADERS = (
    *("torch.load", "torch.serialization.load", "torch.jit.load", "numpy.load", "torch.hub."),
    *("numpy.f2py", "numpy.testing", "torch._inductor.codecache", "torch.utils.bottleneck"),
    *("torch.utils.collect_env", "torch.utils._config_module", "torch.jit.unsupported_tensor_ops"),
    *("uuid._get", "types.CodeType"),
)
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
