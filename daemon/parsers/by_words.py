"""The class of an error whose wording is not known, by what its message speaks of.

A library that is not known to us words its complaint as it likes, but it names what it lacked ("memory",
"space", a checkpoint) and what was the matter with it ("not enough", "corrupt"). Both must stand in the
message. This is asked only about the error with which a program has failed, and only when no exact wording
is known: a line in the middle of a log may speak of anything.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SHORT = 400
"""Characters of a message that are looked at: what was wrong is said first."""


class _Kind(NamedTuple):
    """A class, by a thing and what is the matter with it; ``never``: words of something else."""

    trouble: str
    thing: re.Pattern[str]
    matter: re.Pattern[str]
    never: re.Pattern[str]


def _kind(trouble: str, thing: str, matter: str, never: str = r"(?!)") -> _Kind:
    return _Kind(trouble, *(re.compile(f"(?i){one}") for one in (thing, matter, never)))


_LACKS = (
    r"out of (?:\w+ ){0,2}memory|\boom\b|memory (?:\w+ ){0,2}(?:exhausted|is full|limit)"
    r"|(?:not enough|insufficient|exhausted|no (?:more )?free|ran out of) (?:\w+ ){0,3}(?:memory|ram)\b"
    r"|(?:fail\w*|unable|not|cannot|can't|couldn't) (?:to )?(?:\w+ ){0,2}alloc\w*"
    r"|\w*alloc\w*\b.{0,60}\b(?:fail|error|denied)"
)
_SIZE = r"\bmemory\b|\bmalloc\b|\bram\b|\bbytes\b|\b[KMGT]i?B\b|\bbuffer\b|\btensor|\barray"
_CHECKPOINT = (
    r"check ?point|state[_ -]?dict|\bckpt|weights? file|model file|\barchive\b|safetensors|optimizer state|snapshot"
    r"|\.(?:pt|pth|ckpt|bin|safetensors|npz|h5|msgpack|onnx|gguf)\b"
)
_KINDS = (
    _kind(
        "shm_exhausted",
        r"shared memory|/dev/shm",
        r"(?:not enough|insufficient|no) (?:\w+ ){0,2}(?:space|memory)|\w*alloc\w*.{0,40}fail",
        r"hardware limit|per block|kernel",
    ),
    _kind(
        "cuda_oom",
        r"cuda|\bgpu|\bhip\b|rocm|vram|\bdevice memory|\bhbm\b",
        _LACKS,
        r"pinned|host|\d gpus?\b",
    ),
    _kind(
        "cuda_unavailable",
        r"\bcuda\b|\bgpus?\b|\brocm\b",
        r"\b(?:not|isn't|aren't) (?:available|found|detected|visible|enabled)\b|\bunavailable\b"
        r"|\bno (?:\w+ )?(?:gpu|device|accelerator)s?\b (?:\w+ )?(?:available|found|detected|visible)\b",
        r"\bmemory\b|\bmodule\b|\bfile\b|\bkernel\b",
    ),
    _kind("accel_oom", r"\b(?:npu|xpu|hpu|tpu|mps|neuron|accelerator)s?\b", _LACKS, r"\bhost\b"),
    _kind("host_alloc_failed", _SIZE, _LACKS, r"\bquota\b|shared memory|\bgpu"),
    _kind(
        "quota_exceeded",
        r"\bquota\b",
        r"exceed|reached|over\b",
        r"\bapi\b|request|token|rate|gpu|credit",
    ),
    _kind(
        "disk_full",
        r"\bspace\b|\b(?:disk|volume|file ?system|partition|storage|drive)\b",
        r"\b(?:no|not enough|insufficient|out of|without) (?:\w+ ){0,3}space"
        r"|(?:disk|volume|file ?system|partition|storage|drive) (?:\S+ ){0,3}(?:full|exhausted)\b",
        r"(?:address|search|action|state|latent|observation|colou?r|name|white|work) ?space",
    ),
    _kind(
        "ckpt_corrupt",
        _CHECKPOINT,
        r"corrupt|truncat|damaged|checksum|\bcrc|malformed|invalid (?:header|magic|file|format|archive)"
        r"|unexpected (?:eof|end)|incomplete|not a valid",
    ),
    _kind(
        "ckpt_mismatch",
        _CHECKPOINT,
        r"mismatch|missing (?:\w+ )?keys?|unexpected (?:\w+ )?keys?|incompatible|not (?:match|compatible)"
        r"|different (?:shape|size|architecture|config)|was (?:saved|trained|made) with",
    ),
    _kind("grad_nonfinite", r"\bgrad", r"\bnan\b|\binf\b|non-?finite|not finite|infinite"),
    _kind(
        "loss_nan",
        r"\bloss|\blogits?\b|\bparam|\bweights?\b|\bactivation|\bprobabilit|\boutputs? of\b|\bmodel\b",
        r"\bnans?\b|\binf\b|non-?finite|not finite|infinite|found invalid values",
        r"dataset|\binput\b|\blabels?\b|\bcolumn",
    ),
    _kind(
        "network_error",
        r"\bconnect|\bhost\b|\bserver\b|\burl\b|https?\b|\bendpoint|\bdns\b|\bssl\b|\bdownload",
        r"refused|\breset\b|timed? ?out|unreachable|resol(?:ve|ution)|too many requests|\b50[234]\b|\b429\b"
        r"|certificate|disconnected|name or service not known",
        r"\brank\b|nccl|gloo|\bstore\b|rendezvous|postgres|sqlite|\bdatabase\b|localhost|127\.0\.0\.1",
    ),
)


def trouble_of(message: str) -> str:
    """The class that the words of an error mean; empty when they mean none."""
    text = message[:_SHORT]
    for one in _KINDS:
        if one.matter.search(text) and one.thing.search(text) and not one.never.search(text):
            return one.trouble
    return ""
