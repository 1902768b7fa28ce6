"""A box with control groups of either version, as files below a folder."""

from __future__ import annotations

from pathlib import Path

MIB = 1 << 20
PID = 42
NO_LIMIT = 9223372036854771712


class FakeBox:
    """A /proc and a /sys/fs/cgroup on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.v1 = root / "sys/fs/cgroup/memory"
        self.v2 = root / "sys/fs/cgroup"
        (root / "proc/self/ns").mkdir(parents=True)
        (root / "proc/sys/kernel/random").mkdir(parents=True)
        (root / "proc/meminfo").write_text(
            "MemTotal:       1048576 kB\nMemFree:         524288 kB\nMemAvailable:    786432 kB\n"
        )
        self.boot("boot-1")
        self.process()
        self.mounted("0:1 / / rw - ext4 /dev/x rw")

    def boot(self, name: str) -> None:
        (self.root / "proc/sys/kernel/random/boot_id").write_text(f"{name}\n")

    def process(self, state: str = "S", ticks: int = 5, pid: int = PID) -> None:
        home = self.root / f"proc/{pid}"
        home.mkdir(exist_ok=True)
        zeros = " ".join(["0"] * 17)
        (home / "stat").write_text(f"{pid} (x) {state} 1 {zeros} {ticks} {' '.join(['0'] * 32)}\n")

    def mounted(self, *lines: str) -> None:
        text = "".join(f"{i} 1 {line}\n" for i, line in enumerate(lines))
        (self.root / "proc/self/mountinfo").write_text(text)

    def lives_in(self, *lines: str, pid: int = PID) -> None:
        (self.root / f"proc/{pid}/cgroup").write_text("".join(f"{line}\n" for line in lines))

    def group(
        self,
        path: str,
        version: int = 2,
        *,
        current: int = 100 * MIB,
        inactive: int = 30 * MIB,
        limit: int | None = None,
        kills: int | None = 0,
        pids: str = "",
        extra: str = "",
    ) -> Path:
        home = (self.v2 if version == 2 else self.v1) / path.strip("/")
        home.mkdir(parents=True, exist_ok=True)
        (home / "cgroup.procs").write_text(pids)
        counter = "" if kills is None else f"oom_kill {kills}\n"
        if version == 2:
            (home / "memory.current").write_text(f"{current}\n")
            (home / "memory.max").write_text(f"{limit or 'max'}\n")
            (home / "memory.stat").write_text(
                f"anon 1\ninactive_anon 7\ninactive_file {inactive}\nactive_file {20 * MIB}\n"
            )
            (home / "memory.events").write_text(
                f"low 0\nhigh 0\nmax 9\noom 4\n{counter}oom_group_kill 0\n"
            )
        else:
            (home / "memory.usage_in_bytes").write_text(f"{current}\n")
            (home / "memory.limit_in_bytes").write_text(f"{limit or NO_LIMIT}\n")
            stat = f"cache 1\ninactive_file 1\nactive_file 2\n{extra}"
            stat += f"total_inactive_file {inactive}\ntotal_active_file {20 * MIB}\n"
            (home / "memory.stat").write_text(stat)
            (home / "memory.oom_control").write_text(f"oom_kill_disable 0\nunder_oom 0\n{counter}")
        return home

    def remove(self, home: Path) -> None:
        """As rmdir does in the kernel: kept descriptors read nothing any more."""
        for path in home.iterdir():
            path.write_text("")
            path.unlink()
        home.rmdir()


V1_MOUNT = "0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
V2_MOUNT = "0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
HYBRID_MOUNT = "0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
