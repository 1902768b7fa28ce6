"""NVIDIA's Xid codes: what a number in the kernel log means, and what to do about it.

Sources: NVIDIA "Xid Errors" (GPU deployment and management documentation), its Xid
catalogue, and the messages of the open kernel modules.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Action = Literal["none", "restart", "debug", "reset", "reboot", "replace"]
"""What to do, in this order: nothing; restart the program; debug the program; reset the GPU; reboot
the node; have the board replaced."""


class Xid(NamedTuple):
    """Meaning and remedy of one code."""

    meaning: str
    action: Action
    fatal: bool = True
    """The program that uses the GPU cannot continue."""
    program: bool = False
    """The usual cause is the program, not the GPU."""


XIDS: dict[int, Xid] = {
    8: Xid("a channel of the GPU timed out", "reset"),
    11: Xid("invalid or corrupted push buffer stream", "debug"),
    12: Xid("driver error while handling an exception", "restart"),
    13: Xid("graphics engine exception: often an access out of bounds", "debug", program=True),
    25: Xid("invalid or illegal push buffer stream", "debug"),
    31: Xid("memory page fault: an illegal address was used", "debug", program=True),
    32: Xid("invalid or corrupted push buffer stream", "reset"),
    38: Xid("driver firmware error", "restart"),
    43: Xid("the GPU stopped processing a program's channel", "debug", program=True),
    44: Xid("graphics engine fault during a context switch", "reset"),
    45: Xid(
        "channels were torn down: a program ended, or another Xid came before", "none", program=True
    ),
    46: Xid("the GPU stopped processing", "reset"),
    48: Xid("double-bit ECC error", "reset"),
    54: Xid("auxiliary power is not connected", "replace"),
    56: Xid("display engine error", "reset"),
    57: Xid("error while programming the video memory interface", "reset"),
    58: Xid("unstable video memory interface, or an ECC error that was not contained", "reset"),
    61: Xid("internal micro-controller breakpoint", "reset"),
    62: Xid("internal micro-controller halt", "reset"),
    63: Xid("a faulty memory row or page was recorded for remapping", "none", fatal=False),
    64: Xid("recording a faulty memory row or page failed", "reset"),
    66: Xid("illegal access by the driver", "reset"),
    68: Xid("video decoder exception", "debug", program=True),
    69: Xid("graphics engine class error", "debug", program=True),
    73: Xid("video encoder exception", "reset"),
    74: Xid("NVLink error", "reset"),
    78: Xid("vGPU start error", "restart"),
    79: Xid("the GPU has fallen off the bus", "reboot"),
    80: Xid("corrupted data was sent to the GPU", "reset"),
    81: Xid("display subsystem failure", "reset"),
    92: Xid("high rate of single-bit ECC errors", "none", fatal=False),
    93: Xid("non-volatile memory of the board could not be written", "none", fatal=False),
    94: Xid("contained ECC error: only the program that met it ends", "restart"),
    95: Xid("uncontained ECC error", "reset"),
    96: Xid("video decoder 1 exception", "reset"),
    97: Xid("video decoder 2 exception", "reset"),
    109: Xid("context switch timed out", "reset"),
    110: Xid("security fault", "reboot"),
    116: Xid("DMA in the initialisation of the board failed", "reset"),
    119: Xid("the GSP firmware does not answer the driver", "reset"),
    120: Xid("the GSP firmware failed", "reset"),
    121: Xid("chip-to-chip link error, corrected", "none", fatal=False),
    122: Xid("the board's information ROM could not be read", "reset"),
    123: Xid("power management firmware error", "reset"),
    125: Xid("the board's information ROM is damaged", "replace"),
    136: Xid("chip-to-chip link training failed", "reset"),
    137: Xid("NVLink access was refused: an illegal address of a peer", "none", program=True),
    138: Xid("firmware of the video engine failed", "reset"),
    140: Xid("ECC error that was not recovered", "reset"),
    142: Xid("display error", "reset"),
    143: Xid("the GPU could not be initialised", "reset"),
    144: Xid("NVLink: error of the send unit", "reset"),
    145: Xid("NVLink: error of the receive unit", "reset"),
    146: Xid("NVLink: transaction error", "reset"),
    147: Xid("NVLink: transport error", "reset"),
    148: Xid("NVLink: link error", "reset"),
    149: Xid("NVLink: link event of the fabric", "reset"),
    150: Xid("NVLink: error of the multicast unit", "reset"),
    151: Xid("key rotation of the encrypted channel failed", "restart"),
    154: Xid("the recovery action that the GPU asks for has changed", "reset", fatal=False),
    155: Xid("NVLink: software-defined error", "reset"),
    156: Xid("a resource was retired", "none", fatal=False),
    157: Xid("a resource could not be retired", "none", fatal=False),
    158: Xid("fatal time-out on the way to the GPU's memory", "reset"),
    159: Xid("chip-to-chip link: hardware error", "reset"),
    160: Xid("a memory channel was retired", "none", fatal=False),
    161: Xid("a memory channel could not be retired", "none", fatal=False),
    162: Xid("power smoothing: hardware event", "none", fatal=False),
}

HARMLESS = tuple(sorted(code for code, xid in XIDS.items() if not xid.fatal))
"""Codes after which the program continues: worth a note, no reason to stop."""


def meaning(code: int) -> str:
    """The meaning of a code in words; empty for an unknown one."""
    known = XIDS.get(code)
    return "" if known is None else known.meaning
