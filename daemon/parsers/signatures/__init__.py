"""Signatures: how a line of text is known to speak of a trouble. Knowledge as data.

One module per kind of speaker; a new signature is a row in one of them, with lines that must
match and lines that must not: the tests pick both up.
"""

from __future__ import annotations

from .box import BOX
from .checkpoints import CHECKPOINTS
from .collectives import COLLECTIVES
from .crashes import CRASHES
from .cuda import CUDA
from .form import Signature
from .gpu import GPU
from .jobs import JOBS
from .kernel import KERNEL
from .languages import LANGUAGES
from .launchers import LAUNCHERS
from .memory import MEMORY
from .network import NETWORK
from .nvrm import NVRM
from .run import RUN
from .scaling import SCALING
from .schedulers import SCHEDULERS
from .stalls import STALLS
from .start import START
from .trackers import TRACKERS

__all__ = ["SIGNATURES", "Signature"]

SIGNATURES: tuple[Signature, ...] = (
    NVRM
    + GPU
    + CUDA
    + COLLECTIVES
    + MEMORY
    + BOX
    + KERNEL
    + LAUNCHERS
    + JOBS
    + CRASHES
    + SCHEDULERS
    + START
    + RUN
    + SCALING
    + CHECKPOINTS
    + TRACKERS
    + NETWORK
    + STALLS
    + LANGUAGES
)
"""All of them, more exact ones before more general ones of the same class."""
