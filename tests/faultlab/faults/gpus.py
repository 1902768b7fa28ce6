"""GPUs in trouble: unmodified readers over a double of the driver's library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..bench import Bench
from ..lab import DELIVERY_S, Fault
from .hangs import plain


def board(stored: str, pid: int, **values: object) -> str:
    """The stored box with our trainer on GPU 0 and these values of it changed."""
    changed = {
        "procs": f"{pid}:61000000000",
        **{k.replace("__", "."): v for k, v in values.items()},
    }
    head, first, rest = stored.partition("[gpu 0]\n")
    own, second, others = rest.partition("[gpu 1]")
    lines = [line for line in own.splitlines() if line.partition(" =")[0] not in changed]
    lines += [f"{key} = {value}" for key, value in changed.items()]
    return head + first + "\n".join(lines) + "\n" + second + others


def gpu(**values: object) -> Callable[[Bench], None]:
    """A healthy card for a while, then these values."""

    def arrange(bench: Bench) -> None:
        double = bench.gpus()
        stored = double.stored("two_h100")
        plain(bench)
        pid = bench.subjects[0].pid
        double.scenario(board(stored, pid))
        bench.until_said(f"step {bench.random.randint(70, 110)}/")
        bench.inject(lambda: double.scenario(board(stored, pid, **values)))

    return arrange


def busy(bench: Bench) -> None:
    """A card at its power cap, whose clock breathes a little."""
    double = bench.gpus()
    plain(bench)
    pid = bench.subjects[0].pid
    for second in range(80):
        values = {"clock__sm": 1755 - 15 * (second % 5), "power_mw": 640000 + 9000 * (second % 6)}
        double.scenario(board(double.stored("two_h100"), pid, **values))
        bench.pause(1.0)


XID = Fault(
    "31",
    "xid_79",
    gpu(xids="79"),
    classes=frozenset({"xid", "gpu_lost"}),
    cause="79|bus|lost",
    remedy=r"box|node|machine|host|reset|drain|xid|kernel|ssh|provider|console",
    deadline_s=10 + DELIVERY_S,
)
SLOW = Fault(
    "33a",
    "gpu_too_hot",
    gpu(clock_reasons="0x40", clock__sm=810, temp_c=92, power_mw=330000),
    classes=frozenset({"gpu_slow"}),
    cause="hot|thermal|throttl|temperature",
    remedy=r"temperature|cool|box|node|card|nvidia-smi|clock",
    least="warning",
    deadline_s=10 + DELIVERY_S,
)
FAULTS = (
    XID,
    replace(XID, number="31b", name="gpu_lost", arrange=gpu(lost=1)),
    replace(
        XID,
        number="32",
        name="ecc_double_bit",
        arrange=gpu(ecc__uncorrected__volatile=3),
        classes=frozenset({"cuda_ecc"}),
        cause="ECC",
        least="warning",
    ),
    SLOW,
    replace(
        SLOW,
        number="33b",
        name="gpu_clock_drop",
        arrange=gpu(clock__sm=345, clock_reasons="0x0", power_mw=190000),
        cause="clock",
    ),
    Fault("C10", "healthy_gpus", busy, kind="control", length_s=30),
)
