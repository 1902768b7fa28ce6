"""A folder for programs that read files by their path: each file is a link to one that is open.

rsync and rclone follow links. Given the folder of another user, they would follow those of that user,
also one that was put there after we looked. In this folder, which is ours alone, lie links to our own
descriptors: what they read is what was opened, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence

from . import tree
from .receipt import CheckpointGone
from .tree import FileToCopy

AT_ONCE = 200
"""Files that are open at the same time: below the usual limit of 1024 descriptors."""


def portions(items: Sequence[FileToCopy]) -> Iterator[Sequence[FileToCopy]]:
    """The files in groups of at most :data:`AT_ONCE`."""
    for begin in range(0, len(items), AT_ONCE):
        yield items[begin : begin + AT_ONCE]


@contextlib.contextmanager
def staged(items: Sequence[FileToCopy]) -> Iterator[str]:
    """A folder in which these files have their names, for as long as the block lasts.

    Raises CheckpointGone when one of them is not what it was.
    """
    with contextlib.ExitStack() as kept:
        home = kept.enter_context(tempfile.TemporaryDirectory(prefix="middlewatch-mirror-"))
        for item in items:
            try:
                path = kept.enter_context(tree.readable(item))
                now = os.stat(path)
            except OSError as error:
                raise CheckpointGone(f"{item.name} cannot be read: {error.strerror}") from None
            if (now.st_ino, now.st_size) != (item.inode, item.bytes):
                raise CheckpointGone("it changed while it was copied")
            place = f"{home}/{item.name}"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(path, place)
        yield home
