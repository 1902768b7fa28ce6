"""Which interpreters may be run, and as whom: never one as root that somebody else could change.

Python runs code as soon as it starts: what a ``.pth`` file says, ``sitecustomize``, the standard
library beside it. So for root not only the path of the interpreter must be root's alone, link by
link and folder by folder, but also its environment: ``pyvenv.cfg``, the folders of modules, the
``.pth`` files in them and the folders that these name.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...system.ownership import Untrusted, check_way, name_of, others_may_write

HINT = (
    "verify as the user to whom the interpreter belongs, or name another one with --python PATH, "
    "or take the right to write to it from others: chmod go-w"
)
_MODULES = ("site-packages", "dist-packages")
_PATH_LISTS = ("LD_LIBRARY_PATH", "PYTHONPATH")
_PATHS = ("PYTHONHOME", "PYTHONUSERBASE", "TMPDIR", "VIRTUAL_ENV", "CONDA_PREFIX")
_LONGEST_PTH = 64 << 10


def user_of_way(path: str) -> int:
    """The only user besides root who could have put an interpreter there; 0: nobody but root.

    Raises Untrusted when there are several, and OSError when there is no such file.
    """
    folder, owners = Path(path).absolute(), set[int]()
    for _ in range(40):
        owners |= {os.lstat(one).st_uid for one in (folder, *folder.parents)}
        real = Path(os.path.realpath(folder.parent)) / folder.name
        owners |= {os.lstat(one).st_uid for one in (real, *real.parents)}
        if not real.is_symlink():
            break
        folder = real.parent / os.readlink(real)
    owners.discard(0)
    if len(owners) > 1:
        names = " and ".join(sorted(map(name_of, owners)))
        raise Untrusted(f"parts of its path belong to {names}")
    return owners.pop() if owners else 0


def check_user(path: str, uid: int) -> None:
    """Raises Untrusted when somebody besides user ``uid`` and root could have put it there."""
    info = check_way(path, uid)
    if info.st_uid not in (0, uid):
        raise Untrusted(f"{path} belongs to {name_of(info.st_uid)}")


def check_roots_alone(path: str) -> None:
    """Raises Untrusted when anybody but root could change an interpreter or what it imports."""
    _check(path)
    step = path
    for _ in range(40):  # every link on the way may be taken for the place of its environment
        _check_environment(Path(os.path.normpath(step)).parent.parent)
        _check_environment(Path(os.path.realpath(os.path.dirname(step))).parent)
        if not os.path.islink(step):
            return
        step = os.path.join(os.path.dirname(step), os.readlink(step))  # noqa: PTH118
    raise Untrusted(f"{path} leads through too many links")


def roots_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that an interpreter may have as root: no folder that others could change."""
    kept = {name: value for name, value in environ.items() if name not in _PATHS}
    for name in _PATHS:
        if name in environ and _is_roots(environ[name]):
            kept[name] = environ[name]
    for name in _PATH_LISTS:
        folders = [folder for folder in kept.pop(name, "").split(":") if _is_roots(folder)]
        if folders:
            kept[name] = ":".join(folders)
    kept["HOME"] = pwd.getpwuid(0).pw_dir  # its packages of a user are imported from there
    return kept


def _is_roots(folder: str) -> bool:
    try:
        _check(folder)
    except (Untrusted, OSError):
        return False
    return folder.startswith("/")


def _check(path: str) -> None:
    """Raises Untrusted when anybody but root could change this file or folder, or replace it."""
    info = check_way(path, 0)
    if info.st_uid != 0:
        raise Untrusted(f"{path} belongs to {name_of(info.st_uid)}")
    if others_may_write(info):
        raise Untrusted(f"others may write to {path}")


def _check_environment(prefix: Path) -> None:
    for one in _parts(prefix):
        _check(str(one))
        if one.suffix == ".pth":
            for folder in _named_in(one):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    _check(folder)


def _parts(prefix: Path) -> Iterator[Path]:
    """What Python reads of an environment when it starts."""
    if (prefix / "pyvenv.cfg").exists():
        yield prefix / "pyvenv.cfg"
    for library in [prefix / "lib", prefix / "lib64", prefix / "local" / "lib"]:
        for home in sorted(library.glob("python3*")):
            yield home
            for modules in [home / name for name in _MODULES]:
                if modules.is_dir():
                    yield modules
                    yield from sorted(modules.glob("*.pth"))
                    yield from sorted(modules.glob("*customize.py"))


def _named_in(pth: Path) -> list[str]:
    """The absolute folders that a ``.pth`` file adds to the search path."""
    with pth.open("rb") as file:
        lines = file.read(_LONGEST_PTH).decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.startswith("/")]
