"""A box as it looks from inside, as files below a folder."""

from __future__ import annotations

import os
from pathlib import Path


class BoxTree:
    """Environment of the first process, mounts, files, programs, host name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._mounts: list[str] = []
        self.text("proc/sys/kernel/hostname", "box\n")
        self.text("proc/self/cgroup", "0::/\n")
        self.mount("/", "overlay")

    def text(self, name: str, text: str = "") -> BoxTree:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return self

    def folder(self, *names: str) -> BoxTree:
        for name in names:
            (self.root / name.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return self

    def env(self, *names: str) -> BoxTree:
        entries = (f"{name}=s3cr3t-{name.lower()}\0" for name in names)
        return self.text("proc/1/environ", "PATH=/bin\0" + "".join(entries))

    def program(self, *names: str) -> BoxTree:
        for name in names:
            self.text(f"usr/bin/{name}", "#!/bin/sh\n")
            os.chmod(self.root / "usr/bin" / name, 0o755)
        return self

    def mount(self, point: str, fstype: str = "ext4", source: str = "/") -> BoxTree:
        number = len(self._mounts) + 20
        self._mounts.append(
            f"{number} 1 0:{number} {source} {point} rw,relatime - {fstype} none rw\n"
        )
        self.folder(point)
        return self.text("proc/self/mountinfo", "".join(self._mounts))
