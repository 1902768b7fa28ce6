"""The files that go along with a job to a place that is sent nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from ..jobs.job import Job
from ..system.errors import UsageError

MOST = 1 << 20
"""Bytes of all of them: they become a part of one script. Our choice; what is larger is a data set."""
ELSEWHERE = "what is larger, or no text, is a data set: datasets under [kaggle]"


def carried(job: Job) -> dict[str, str]:
    """Name below the working directory -> text: what the command names and is there, and ``files`` under
    ``[kaggle]``.

    Raises UsageError for a file that is not there, is no text in UTF-8, or lies elsewhere, and when they
    are too much.
    """
    base = Path(job.folder, job.main.workdir).resolve()
    texts: dict[str, str] = {}
    for name in dict.fromkeys((*_named(job, base), *job.kaggle.files)):
        path = Path(base, name).resolve()
        if not path.is_relative_to(base):
            raise UsageError(
                f"{name} does not lie below {base}", "workdir under [job] names the folder"
            )
        try:
            texts[path.relative_to(base).as_posix()] = path.read_bytes().decode()
        except OSError as error:
            raise UsageError(
                f"cannot read {path}: {error.strerror}", "files under [kaggle]"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not a text in UTF-8", ELSEWHERE) from error
    if sum(len(text.encode()) for text in texts.values()) > MOST:
        raise UsageError(f"the files that go along are more than {MOST >> 20} MiB", ELSEWHERE)
    return texts


def _named(job: Job, base: Path) -> Iterator[str]:
    """Words of the command, and values of its options, that are files below the folder."""
    for word in job.main.command:
        for part in (word, word.partition("=")[2]):
            if part and not PurePath(part).is_absolute() and ".." not in PurePath(part).parts:
                try:
                    if (base / part).is_file() and (base / part).stat().st_size <= MOST:
                        yield part
                except (OSError, ValueError):
                    continue
