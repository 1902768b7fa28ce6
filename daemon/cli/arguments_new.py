"""The options of ``new``: a training project for a framework."""

from __future__ import annotations

from .parser import Add, json_option

FRAMEWORKS = ("nanogpt", "litgpt", "hf", "lightning")
SIZES = ("tiny", "small", "base")


def beginning(add: Add) -> None:
    """Add the command."""
    sub = add(
        "new",
        "new:new",
        "write a training project that goes on where it was: train.sh, settings, job.toml",
        "middlewatch new hf sums --toy",
    )
    sub.add_argument(
        "framework",
        choices=FRAMEWORKS,
        metavar="FRAMEWORK",
        help=f"one of {', '.join(FRAMEWORKS)}; hf is the Trainer of transformers",
    )
    sub.add_argument("folder", metavar="DIR", help="where the files are written")
    data = sub.add_mutually_exclusive_group(required=True)
    data.add_argument("--data", metavar="FILE", help="the text to train on, in UTF-8")
    data.add_argument(
        "--toy", action="store_true", help="a text to try it with is written too: sums"
    )
    sub.add_argument("--out", metavar="DIR", help="where it saves (default: out in DIR)")
    sub.add_argument(
        "--size",
        choices=SIZES,
        help="0.1, 11 or 86 million parameters (default: small; with --toy tiny)",
    )
    sub.add_argument("--steps", type=int, metavar="N", help="steps (default: by the size)")
    sub.add_argument("--seed", type=int, default=1337, metavar="N", help="default: 1337")
    sub.add_argument(
        "--gpus", type=int, metavar="N", help="GPUs (default: 1 if one is seen here, else 0)"
    )
    sub.add_argument(
        "--precision",
        choices=("auto", "bf16", "fp16", "fp32"),
        help="default: by the card that is seen here; auto: by that which is there at the start",
    )
    sub.add_argument(
        "--checkout",
        metavar="DIR",
        help="with nanogpt: where it is checked out (default: nanoGPT in DIR)",
    )
    sub.add_argument("--force", action="store_true", help="replace files that are there")
    json_option(sub)
