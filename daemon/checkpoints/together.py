"""Which saves belong together: model and optimizer in two files, generator and discriminator, EMA.

A save that is a half of another one is never what one resumes from, nor the best one. What a file is, its
tensors say (a state of an optimizer has other names than weights); where they say nothing, its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from middlewatch.sentinels.kit import CheckpointSeen

from .formats import names

Role = Literal["whole", "weights", "optimizer", "state", "discriminator", "ema"]
"""What a save holds: everything that a resume needs as far as is known, weights alone, or a half."""

HALVES: frozenset[Role] = frozenset({"optimizer", "state", "discriminator", "ema"})
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPTIMIZER_PART = re.compile(
    r"optim|exp_avg|momentum|^state$|adam|_moment|(?:^|[/._])(?:mu|nu)$", re.IGNORECASE
)
_OPTIMIZER_NAME = re.compile(
    r"(?:^|[-_.])(?:optim\w*|opt|pdopt|adam\w*)(?=$|[-_.\d])", re.IGNORECASE
)
_STATE_NAME = re.compile(
    r"(?:^|[-_.])(?:sched\w*|scaler|rng\w*|replay\w*|recipe|trainer|train(?:ing)?|criterion|history|vecnormalize)"
    r"(?:[-_.]?(?:state|buffer|pool))?(?=$|[-_.\d])",
    re.IGNORECASE,
)
_DISCRIMINATOR = re.compile(r"(?:^|[-_.])(?:D|net_?D|disc\w*|critic)(?=$|[-_.\d])")
_EMA = re.compile(r"(?:^|[-_.])(?:ema|averaged?)(?=$|[-_.\d])", re.IGNORECASE)
_LAST = re.compile(r"(?:^|[-_.])(?:last|latest)(?=$|[-_.])", re.IGNORECASE)
_FOLDER_OPTIMIZER = re.compile(
    r"optim|\.distcp|(?:^|/)(?:opt|recipe)_?state|_states\.pt|\.metadata|manifest\.ocdbt|zarr",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Together:
    """What belongs together among the saves of a run."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    main_of: Mapping[str, str] = field(default_factory=dict)
    """Path of a half -> path of the save that it belongs to."""
    halves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The other way round."""
    lacking: frozenset[str] = frozenset()
    """Saves whose half is missing, which the saves before them have."""


def role_of(seen: CheckpointSeen) -> Role:
    """What one save holds."""
    name = seen.path.rpartition("/")[2]
    words = [part.rpartition("×")[0] for part in seen.parts]
    if seen.files > 1 and not name.endswith((".index", ".json", ".onnx")):
        return "whole" if any(map(_FOLDER_OPTIMIZER.search, words)) else "weights"
    stem = name.rpartition(".")[0] or name
    if name.endswith(".pdopt"):
        return "optimizer"
    told = [bool(_OPTIMIZER_PART.search(word)) for word in words]
    if told and all(told):
        return "optimizer"
    if _DISCRIMINATOR.search(stem):
        return "discriminator"
    if any(told):
        return "whole"
    if _OPTIMIZER_NAME.search(stem):
        return "optimizer"
    if _STATE_NAME.search(stem) and not re.search(r"model|net|weights", stem, re.IGNORECASE):
        return "state"
    if re.search(r"replay_buffer|vecnormalize", stem):
        return "state"
    if _EMA.search(stem):
        return "ema"
    return "weights"


def together(ordered: Sequence[CheckpointSeen]) -> Together:
    """``ordered``: oldest first. Halves belong to a save of the same folder and the same step, or to the only
    other save of their folder."""
    roles = _roles(ordered)
    places: dict[tuple[str, object], list[CheckpointSeen]] = {}
    for seen in ordered:
        folder, _, name = seen.path.rpartition("/")
        key = seen.step if seen.step is not None else seen.epoch
        places.setdefault((folder, _last_number(name) if key is None else key), []).append(seen)
    main_of: dict[str, str] = {}
    halves: dict[str, tuple[str, ...]] = {}
    usual: dict[str, frozenset[str]] = {}
    lacking = set()
    for several in places.values():
        mains = [s for s in several if roles[s.path] not in HALVES]
        rest = [s for s in several if roles[s.path] in HALVES]
        if not mains:
            continue
        main = max(
            mains, key=lambda s: (roles[s.path] == "whole", not names.called_best(s.path), s.bytes)
        )
        if rest:
            halves[main.path] = tuple(sorted(s.path for s in rest))
            main_of.update((s.path, main.path) for s in rest)
        kinds = frozenset(_shape(s.path) for s in rest if roles[s.path] != "ema")
        before = usual.get(_shape(main.path))
        if before is not None and not before <= kinds and roles[main.path] == "weights":
            lacking.add(main.path)
        elif kinds or before is None:
            usual[_shape(main.path)] = kinds
    for seen, main in _beside_folders(ordered, roles, main_of):
        main_of[seen.path] = main.path
        halves[main.path] = (*halves.get(main.path, ()), seen.path)
    return Together(roles, main_of, halves, frozenset(lacking))


def resumable(ordered: Sequence[CheckpointSeen], known: Together) -> CheckpointSeen | None:
    """The newest save to resume from: it is whole, and so are its halves; one with its optimizer before one
    without. ``None`` without one."""
    state = {seen.path: seen.state for seen in ordered}
    good = []
    for seen in reversed(ordered):
        if seen.state != "ok" or known.roles[seen.path] in HALVES or seen.path in known.lacking:
            continue
        needed = [p for p in known.halves.get(seen.path, ()) if known.roles[p] != "ema"]
        if all(state.get(p) not in ("corrupt", "incomplete", "pending") for p in needed):
            good.append(seen)
    full = (s for s in good if known.roles[s.path] == "whole" or s.path in known.halves)
    newest = next(full, good[0] if good else None)
    return next((s for s in good if newest and _is_copy(s, newest)), newest)


def _is_copy(seen: CheckpointSeen, of: CheckpointSeen) -> bool:
    """Whether it is the same save under the name that its trainer resumes from: ``last.pt``."""
    key = (of.path.rpartition("/")[0], of.step, of.epoch, of.bytes)
    same = (seen.path.rpartition("/")[0], seen.step, seen.epoch, seen.bytes) == key
    told = of.step is not None or of.epoch is not None
    return same and told and _LAST.search(seen.path.rpartition("/")[2]) is not None


def _beside_folders(
    ordered: Sequence[CheckpointSeen], roles: Mapping[str, Role], main_of: Mapping[str, str]
) -> Iterator[tuple[CheckpointSeen, CheckpointSeen]]:
    """Halves in a folder beside those of the saves, written over each time: ``recipe_state/recipe_state.pt``
    belongs to the ``epoch_1`` with which it was written, and not to a later ``epoch_2`` of weights alone."""
    mains: dict[str, list[CheckpointSeen]] = {}
    for seen in ordered:
        if roles[seen.path] not in HALVES:
            mains.setdefault(seen.path.rpartition("/")[0], []).append(seen)
    for seen in ordered:
        above = seen.path.rpartition("/")[0].rpartition("/")[0]
        if roles[seen.path] not in ("optimizer", "state") or seen.path in main_of:
            continue
        if _NUMBER.search(seen.path[len(above) :]) is None and above in mains:
            yield seen, min(mains[above], key=lambda s: abs(s.saved_at - seen.saved_at))


def _roles(ordered: Sequence[CheckpointSeen]) -> dict[str, Role]:
    """What each holds. A name, or the word ``state`` alone, makes a half only beside that of which it is one:
    what is called ``discriminator_v2`` may be all that a run saves."""
    roles = {seen.path: role_of(seen) for seen in ordered}
    mains: dict[str, int] = {}
    doubtful: dict[tuple[str, str], list[CheckpointSeen]] = {}
    for seen in ordered:
        folder = seen.path.rpartition("/")[0]
        role = roles[seen.path]
        if role not in HALVES:
            mains[folder] = mains.get(folder, 0) + 1
        elif role != "optimizer" or _only_by_a_word(seen):
            doubtful.setdefault((folder, _shape(seen.path)), []).append(seen)
    for (folder, _), several in doubtful.items():
        known = mains.get(folder, 0)
        named = roles[several[0].path] in ("discriminator", "ema")
        # An export beside a hundred of them is no other half.
        if known and not (named and 2 * known < len(several)):
            continue
        if roles[several[0].path] == "state" and not any(_holds_model(seen) for seen in several):
            continue  # a replay buffer is no model, whatever lies beside it
        roles.update((seen.path, "weights") for seen in several)
    return roles


def _only_by_a_word(seen: CheckpointSeen) -> bool:
    """Whether it counts as an optimizer by its name alone, and its tensors do not say so (``optimizer-net.pt``);
    or because they lie below ``state``, as those of a model may too."""
    name = seen.path.rpartition("/")[2]
    words = {part.rpartition("×")[0] for part in seen.parts}
    if name.endswith(".pdopt") or not words:
        return False
    if not all(map(_OPTIMIZER_PART.search, words)):
        return True
    return words == {"state"} and not _OPTIMIZER_NAME.search(name)


def _holds_model(seen: CheckpointSeen) -> bool:
    """Whether tensors of a model are known to be in it."""
    words = [part.rpartition("×")[0] for part in seen.parts]
    return any(not _OPTIMIZER_PART.search(word) for word in words)


def _last_number(name: str) -> float | None:
    found = _NUMBER.findall(name)
    return float(found[-1][:18]) if found else None


def _shape(path: str) -> str:
    return _NUMBER.sub("#", path)
