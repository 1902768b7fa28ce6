"""Which GPUs of the box a run uses, by the driver's word and by what its processes have open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from middlewatch.sentinels.kit import GpuSample, PartsUsed


def gpus_of(
    parts: PartsUsed | None, pids: Collection[int], cards: Sequence[GpuSample]
) -> frozenset[int] | None:
    """Indexes of the GPUs that a run uses; ``None`` when nothing shows which.

    ``pids`` are its processes, ``cards`` the newest sample of each GPU. The best evidence is the
    driver's list of the processes on a GPU. In a container that often has pids of the host, which
    mean nothing here, or none: then the open device files count, of those that the environment of
    the run allows. CUDA may open a GPU that it does not use, so these are the GPUs that it may use.
    An allowed GPU alone is evidence too; without any the answer is ``None``.
    """
    on_card = frozenset(c.index for c in cards if not set(pids).isdisjoint(c.pids or ()))
    if on_card or parts is None:
        return on_card or None
    opened = None
    if parts.gpu_minors is not None:
        opened = frozenset(
            c.index for c in cards if (c.index if c.minor is None else c.minor) in parts.gpu_minors
        )
    if parts.gpus_visible is None:
        return opened
    allowed = frozenset(_named(parts.gpus_visible, cards))
    return allowed if opened is None else opened & allowed or opened


def _named(words: Iterable[str], cards: Sequence[GpuSample]) -> Iterable[int]:
    """Indexes of the cards that are named by an index or by the beginning of a UUID, as for CUDA."""
    for word in words:
        for card in cards:
            if word == str(card.index) or (word.startswith("GPU-") and card.uuid.startswith(word)):
                yield card.index


class KnownGpus:
    """The GPUs of one run, as far as they are known: what was seen last is kept, because a process
    that lost its GPU, or has ended, shows none."""

    def __init__(self) -> None:
        self.of_run: frozenset[int] | None = None

    def look(
        self, parts: PartsUsed | None, pids: Collection[int], cards: Sequence[GpuSample]
    ) -> None:
        """Weigh what is known now."""
        found = gpus_of(parts, pids, cards)
        if found or self.of_run is None:
            self.of_run = found
