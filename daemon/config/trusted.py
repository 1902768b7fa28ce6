"""Read a file of the configuration: only one that nobody but we and root can have written.

It says which programs and addresses are used with our rights.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..system.errors import ConfigError
from ..system.ownership import Untrusted, name_of, others_may_read, read_trusted


def read_config(path: Path, shown: str) -> str | None:
    """The text of a file of the configuration; ``None`` when there is none.

    ``shown`` is what it is called in a message. Raises ConfigError when it cannot be read, or when
    others may write to it or to a folder that it lies in.
    """
    try:
        return read_trusted(str(path)).decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except Untrusted as error:
        us = name_of(os.geteuid())
        who = us if us == "root" else f"{us} or root"
        raise ConfigError(
            f"{shown} is not used: {error}",
            f"it has to belong to {who}, and others must not write there: chown {us} FILE, "
            "chmod go-w FILE and FOLDER (or chmod +t FOLDER)",
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{shown} cannot be read: it is not written in UTF-8",
            f"iconv -f latin1 -t utf8 {path} > new.toml",
        ) from error
    except IsADirectoryError as error:
        raise ConfigError(f"{shown} cannot be read: it is a directory", "name a file") from error
    except OSError as error:
        raise ConfigError(
            f"{shown} cannot be read: {error.strerror or error}", "do it as its user, or with sudo"
        ) from error


def keep_secret(path: Path, shown: str) -> None:
    """Refuse a file that holds secrets and that others may read.

    Raises ConfigError.
    """
    try:
        readable = others_may_read(str(path))
    except OSError as error:
        raise ConfigError(f"{shown} cannot be read: {error}") from error
    if readable:
        raise ConfigError(
            f"{shown} is not used: it holds secrets (alert URLs, a ping URL or a proxy), and others may read it",
            f"chmod 600 {path}; if others need the rest of it, move the URLs to a file of their own, "
            "with mode 600, and name that in urls_file",
        )
