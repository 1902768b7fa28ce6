"""``size``: what a training will need, before there is one."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator
from typing import Any

from ..sizing import saves
from ..sizing.classes import CLASSES, STATE_BYTES, class_of
from ..sizing.model import ASPECT, HEAD, Model, shaped
from ..sizing.need import KEPT_FREE, Change, Need, changes, need, together
from ..sizing.plan import Plan
from ..sizing.saves import Save
from ..system.errors import Refused, UsageError
from . import console
from .sizes import size_of

_COUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)([kmbgt]?)")
_THOUSANDS = {"": 0, "k": 1, "m": 2, "b": 3, "g": 3, "t": 4}
MOST_PARAMS = 10**15
"""More than any model has."""
LEAST_VRAM = 100e6
"""Bytes: less is a number without its unit."""
_COUNTS = (
    *("layers", "hidden", "heads", "vocab", "kv_heads", "inner"),
    *("lora_rank", "seq", "batch", "accumulate", "gpus"),
)
_FAR = 1.5
"""From this factor on it is told that layers, width and parameters do not go together. Our choice."""


def size(args: argparse.Namespace) -> int:
    """Say what the training needs; exit 4 when it does not fit ``--vram``."""
    plan = _plan(args)
    vram = _vram(args.vram)
    needed, save = need(plan), saves.save_of(plan)
    fits = None if vram is None else needed.card <= vram
    found = changes(plan, vram) if vram is not None and not fits else []
    if args.json:
        console.as_json(_as_json(plan, needed, save, args.saves, vram, found))
    else:
        _show(plan, needed)
        _show_saves(plan, save, args.saves)
        _show_classes(plan)
        if vram is not None:
            console.say()
            for line in _verdict(plan, needed, vram, found):
                console.say(line)
    return Refused.exit_code if fits is False else 0


def _plan(args: argparse.Namespace) -> Plan:
    for name in (*_COUNTS, "saves"):
        value = getattr(args, name)
        if value is not None and not 1 <= value <= MOST_PARAMS:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} {value} is no size", "it takes a number of 1 or more")
    if args.fp32_gradients and args.precision not in ("bf16", "fp16"):
        raise UsageError(
            f"--fp32-gradients is for --precision bf16 and fp16, not {args.precision}",
            "the gradients of the others have the type of their weights",
        )
    model = shaped(
        params_of(args.params),
        layers=args.layers or 0,
        hidden=args.hidden or 0,
        heads=args.heads or 0,
        vocab=args.vocab or 0,
        block=args.block,
        kv_heads=args.kv_heads or 0,
        inner=args.inner or 0,
    )
    _check_block(args, model)
    if args.lora_rank and args.lora_rank > model.hidden:
        raise UsageError(
            f"--lora-rank {args.lora_rank} is more than the width of the model, {model.hidden}",
            "usual ranks are 8 to 64",
        )
    return Plan(
        model,
        optimizer=args.optimizer,
        precision=args.precision,
        gpus=args.gpus,
        sharding=args.sharding,
        seq=args.seq,
        batch=args.batch,
        accumulate=args.accumulate,
        rank=args.lora_rank or 0,
        checkpointing=args.checkpointing,
        eager=args.eager,
        wide_gradients=args.fp32_gradients,
    )


def _check_block(args: argparse.Namespace, model: Model) -> None:
    if args.block != "llama" and (args.kv_heads or args.inner):
        raise UsageError("--kv-heads and --inner are those of a block of Llama", "--block llama")
    if model.kv_heads and model.heads % model.kv_heads:
        raise UsageError(
            f"{model.heads} heads do not share {model.kv_heads} heads of keys evenly",
            f"--kv-heads takes a divisor of {model.heads} (--heads)",
        )


def params_of(text: str) -> int:
    """A number of parameters like ``7B``, ``7e9`` or ``124M``. Raises UsageError."""
    found = _COUNT.fullmatch(re.sub(r"[\s,_]", "", text.lower()))
    count = float(found[1]) * 1000.0 ** _THOUSANDS[found[2]] if found else 0.0
    if not 1 <= count <= MOST_PARAMS:
        raise UsageError(f"cannot read the number of parameters {text!r}", "like 124M, 7B or 7e9")
    return round(count)


def _vram(text: str | None) -> int | None:
    if text is None:
        return None
    vram = size_of(text)
    if vram < LEAST_VRAM:
        raise UsageError(f"--vram {text}: no card has so little", "with its unit, like 80G")
    return vram


def decimal(count: float) -> str:
    """Bytes in units of 1000, as papers and makers of GPUs count them: ``31.4 GB``."""
    power = min(4, max(0, (len(str(math.floor(count))) - 1) // 3))
    value = count / 1000**power
    digits = 0 if power == 0 or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def _show(plan: Plan, needed: Need) -> None:
    for line in _head(plan):
        console.say(line)
    console.say()
    rows = [(line.what, line.arithmetic, f"{decimal(line.bytes):>9}") for line in needed.lines]
    rows.append(("counted", "", f"{decimal(needed.counted):>9}"))
    free = f"{KEPT_FREE:.0%} of the card: CUDA context, fragmentation, workspaces"
    rows.append(("not counted", free, f"{decimal(needed.card - needed.counted):>9}"))
    rows.append(("a card of", "", f"{decimal(needed.card):>9}"))
    console.table(("ON EACH GPU", "ARITHMETIC", "    BYTES"), rows)
    if plan.model.block == "gpt":
        console.say("  the layers are those of GPT-3; for SwiGLU and RMSNorm: --block llama")


def _head(plan: Plan) -> Iterator[str]:
    m = plan.model
    yield f"{m.params:,} parameters: {m.layers} layers, {m.hidden} wide, {m.heads} heads, vocabulary {m.vocab:,}"
    derived = [name for name in m.assumed if name != "vocab"]
    if derived:
        rules = ["12·L·h²" + (" + v·h" if m.words else "") + " = parameters"]
        rules += [f"h = {ASPECT}·L"] if {"layers", "hidden"} <= {*derived} else []
        rules += [f"heads of {HEAD}"] if "heads" in derived else []
        rules = rules[1:] if derived == ["heads"] else rules
        yield f"  derived, not given: {', '.join(derived)} (by {', '.join(rules)})"
    if "vocab" in m.assumed:
        yield "  assumed: the vocabulary, for the logits only (--vocab N)"
    if not 1 / _FAR < m.by_rule / m.params < _FAR:
        yield (
            f"  12·L·h² would be {m.by_rule:,}: experts, or a mistake? "
            "Activations are those of a dense model"
        )
    if plan.rank:
        share = plan.trained / m.params
        yield f"  LoRA of rank {plan.rank} on all matrices: {plan.trained:,} trained, {share:.2%}"
    shown = {"ddp": "whole on each", "fsdp": "FSDP"}.get(plan.sharding, plan.sharding)
    where = "1 GPU" if plan.gpus == 1 else f"{plan.gpus} GPUs ({shown})"
    more = f", {plan.accumulate} batches a step" if plan.accumulate > 1 else ""
    yield (
        f"{plan.optimizer}, {plan.precision}, {where}, {plan.batch} × {plan.seq:,} tokens on each"
        f"{more}: {plan.tokens_a_step:,} tokens a step"
    )
    if plan.gpus == 1 and plan.sharding != "ddp":
        yield f"  {plan.sharding} divides nothing on one GPU (--gpus N)"
    if plan.accumulate > 1 and plan.gpus > 1 and plan.shares(2) > 1:
        yield "  with no_sync() the gradients stay whole between the batches: not counted"


def _show_saves(plan: Plan, save: Save, kept: int | None) -> None:
    console.say()
    what = "adapters" if plan.rank else "weights"
    head = ["ONE SAVE", f"{'BYTES':>9}"]
    if kept:
        head += [f"{f'{kept} KEPT':>9}", "WITH THE ONE BEING WRITTEN"]
    rows = []
    for name, one in ((what, save.weights), (f"{what} and optimizer", save.whole)):
        sizes = (one, one * kept, saves.disk(one, kept)) if kept else (one,)
        rows.append((name, *(f"{decimal(each):>9}" for each in sizes)))
    console.table(head, rows)
    if kept:
        console.say(f"  for a box: middlewatch audit --save-size {save.whole} --saves {kept}")


def _show_classes(plan: Plan) -> None:
    console.say()
    here = class_of(plan.model.params)
    rows = []
    for one in CLASSES:
        low, high = one.state_gb
        few, many = one.least_gpus
        counted = f"{few}" if few == many else f"{few}-{many}"
        states = f"{low:,g}-{high:,g} GB"
        mark = "<- this model" if one is here else ""
        rows.append((one.name, f"{one.gpus} × {one.card}", states, counted, mark))
    console.table(("SIZE", "USUAL BOX", f"STATES AT {STATE_BYTES} B", "CARDS FOR THEM", ""), rows)
    console.say("  all parameters trained, states sharded, no activations; LoRA takes far less")


def _verdict(plan: Plan, needed: Need, vram: int, found: list[Change]) -> Iterator[str]:
    if needed.card <= vram:
        left = vram * (1 - KEPT_FREE) - needed.counted
        yield f"It fits {decimal(vram)}: {decimal(left)} are left beside the {KEPT_FREE:.0%} kept free."
        return
    yield f"It does not fit {decimal(vram)}: it takes a card of {decimal(needed.card)}."
    good = [one for one in found if one.card <= vram]
    if good:
        yield "One of these makes it fit:"
        yield from _changes(good)
        return
    yield "No single change makes it fit. What it would take with each:"
    every = together(plan)
    yield from _changes([*found, every])
    if every.card > vram:
        yield "More GPUs, a smaller model or LoRA beside these are left."


def _changes(found: list[Change]) -> Iterator[str]:
    wide = max((len(one.what) for one in found), default=0)
    for one in found:
        yield f"  {one.what:<{wide}}  {decimal(one.card):>9}  {one.options}"


def _as_json(
    plan: Plan, needed: Need, save: Save, kept: int | None, vram: int | None, found: list[Change]
) -> dict[str, Any]:
    m = plan.model
    return {
        "model": {
            "params": m.params,
            "layers": m.layers,
            "hidden": m.hidden,
            "heads": m.heads,
            "vocab": m.vocab,
            "assumed": list(m.assumed),
            "block": m.block,
            "kv_heads": m.kv_heads or m.heads,
            "inner": m.wide,
            "by_rule": m.by_rule,
            "class": class_of(m.params).name,
        },
        "plan": {
            "optimizer": plan.optimizer,
            "precision": plan.precision,
            "gpus": plan.gpus,
            "sharding": plan.sharding,
            "seq": plan.seq,
            "batch": plan.batch,
            "accumulate": plan.accumulate,
            "lora_rank": plan.rank or None,
            "trained": plan.trained,
            "checkpointing": plan.checkpointing,
            "eager": plan.eager,
            "fp32_gradients": plan.wide_gradients,
            "tokens_a_step": plan.tokens_a_step,
        },
        "lines": [line._asdict() for line in needed.lines],
        "bytes": {
            **{group: needed.of(group) for group in ("states", "buffers", "activations")},
            "counted": needed.counted,
            "kept_free": needed.card - needed.counted,
            "card": needed.card,
        },
        "save": {
            "weights": save.weights,
            "whole": save.whole,
            "kept": kept,
            "disk_weights": saves.disk(save.weights, kept) if kept else None,
            "disk_whole": saves.disk(save.whole, kept) if kept else None,
        },
        "vram": vram,
        "fits": None if vram is None else needed.card <= vram,
        "changes": [
            {"what": c.what, "options": c.options, "card": c.card, "fits": c.card <= (vram or 0)}
            for c in found
        ],
        "classes": [
            {
                "class": one.name,
                "gpus": one.gpus,
                "card": one.card,
                "state_gb": list(one.state_gb),
                "least_gpus": list(one.least_gpus),
            }
            for one in CLASSES
        ],
    }
