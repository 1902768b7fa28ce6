"""How much memory may be taken without harm to the training: of the box and of the container."""

from __future__ import annotations

SHARE = 0.5
"""Of what is free. Our choice: the other half is for what the training takes next."""
MOST_BYTES = 8 << 30
LEAST_BYTES = 512 << 20
"""Less does not load a single large tensor; the kernel has the last word anyway."""
_CGROUP = "/sys/fs/cgroup"


def memory(proc: str = "/proc", cgroup: str = _CGROUP) -> int:
    """Bytes a heavy child may use: half of what is free, between 512 MiB and 8 GiB."""
    free = [_available(f"{proc}/meminfo"), *_groups(proc, cgroup)]
    return max(LEAST_BYTES, min(MOST_BYTES, int(SHARE * min(free))))


def _available(path: str) -> int:
    for line in _text(path).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return MOST_BYTES


def _groups(proc: str, cgroup: str) -> list[int]:
    """What is free under the limit of every group around us (version 2, else version 1)."""
    found = []
    for line in _text(f"{proc}/self/cgroup").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            home, limit, used = cgroup, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            home, limit, used = f"{cgroup}/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        steps = [step for step in path.split("/") if step]
        for depth in range(len(steps) + 1):
            here = "/".join([home, *steps[:depth]])
            bounds, taken = _text(f"{here}/{limit}").strip(), _text(f"{here}/{used}").strip()
            if bounds.isdigit() and taken.isdigit():
                found.append(max(0, int(bounds) - int(taken)))
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return ""
