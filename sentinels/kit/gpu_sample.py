"""What is seen of one GPU at one instant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU at one instant. ``None``: not supported (MIG, old board), never 0."""

    at: float
    index: int
    uuid: str = ""
    name: str = ""
    util_ratio: float | None = None
    mem_used_bytes: int | None = None
    mem_total_bytes: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temp_c: float | None = None
    sm_clock_mhz: float | None = None
    throttle: tuple[str, ...] = ()
    """Names of the active clock event reasons that reduce speed (``hw_thermal``, …)."""
    pids: tuple[int, ...] | None = None
    lost: bool = False
    """The driver reported NVML_ERROR_GPU_IS_LOST or removed the device."""
    error: str | None = None
    sm_clock_usual_mhz: float | None = None
    """Its SM clock in the half minute of full load in which that was highest."""
    power_usual_w: float | None = None
    """Its power draw in the half minute of full load in which that was highest."""
    ecc_new: int | None = None
    """Uncorrected memory errors since the daemon began to watch."""
    remap_failed: bool | None = None
    """True when a faulty row of its memory could not be replaced by a spare row."""
    minor: int | None = None
    """N of its device file ``/dev/nvidiaN``."""
    bus_id: str = ""  # by which the kernel log names it; empty when not known
    capability: str = ""  # compute capability, like 9.0; empty when not known
    mem_busy_ratio: float | None = None
    """Part of the time in which its memory was read or written."""
    shares: tuple[tuple[int, float], ...] | None = None
    """(pid, part of its time) of every process that used it within 15 s, of a GPU that several use;
    ``None`` when only one does, or when it is not known."""

    @property
    def place(self) -> str:
        """Its name as the place of a trouble of the box: the same for all runs."""
        return f"gpu:{self.uuid or self.index}"
