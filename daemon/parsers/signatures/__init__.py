"""Signatures: patterns of log text, each with the class of trouble that it shows, as data.

There is one module for each kind of program or trouble. A new signature is a row in one of them.
The tests hold lines that it must match and lines that it must not match.
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
"""All signatures; of one class the more specific ones come first."""
