"""The options of ``size``: what is to be trained, and on what."""

from __future__ import annotations

from ..sizing.model import BLOCKS
from ..sizing.optimizers import OPTIMIZERS
from ..sizing.plan import PRECISIONS, SHARDINGS
from .parser import Add, json_option


def sizing(add: Add) -> None:
    """Add the command."""
    sub = add(
        "size",
        "size:size",
        "say what a training will need: memory of each GPU line by line, size of its saves",
        "middlewatch size --params 7B --gpus 8 --sharding fsdp --seq 4096 --vram 80G --saves 20",
    )
    model = sub.add_argument_group("the model")
    model.add_argument("--params", metavar="N", required=True, help="parameters: 124M, 7B or 7e9")
    for name, text in (
        ("layers", "layers (default: from the parameters)"),
        ("hidden", "width of a layer (default: from the parameters)"),
        ("heads", "heads of attention (default: hidden / 128)"),
        ("vocab", "words that it knows (default: 50257 for the logits)"),
    ):
        model.add_argument(f"--{name}", type=int, metavar="N", help=text)
    model.add_argument(
        "--block",
        choices=BLOCKS,
        default="gpt",
        help="what a layer is: gpt (LayerNorm, GELU, dropout), llama (RMSNorm, SwiGLU); default: gpt",
    )
    for name, text in (
        ("kv-heads", "with --block llama: heads of keys and values (default: as many as heads)"),
        ("inner", "with --block llama: width inside SwiGLU (default: 8/3 of the width)"),
    ):
        model.add_argument(f"--{name}", type=int, metavar="N", help=text)
    way = sub.add_argument_group("how it is trained")
    way.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw", help="default: adamw")
    way.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="bf16",
        help="bf16, fp16: 16-bit weights with masters in 32 (default: bf16); amp: torch.autocast; "
        "bf16-pure: all in 16",
    )
    way.add_argument(
        "--fp32-gradients",
        action="store_true",
        help="gradients of 32 bits beside weights of 16, as Megatron and DeepSpeed have with bf16",
    )
    way.add_argument(
        "--lora-rank",
        type=int,
        metavar="R",
        help="train adapters of this rank on all matrices only",
    )
    for name, default, text in (
        ("seq", 2048, "tokens of a sequence (default: 2048)"),
        ("batch", 1, "sequences on one GPU at once (default: 1)"),
        ("accumulate", 1, "batches for one step of the optimizer (default: 1)"),
    ):
        way.add_argument(f"--{name}", type=int, default=default, metavar="N", help=text)
    way.add_argument(
        "--checkpointing",
        action="store_true",
        help="activations are computed again, layer by layer",
    )
    way.add_argument(
        "--eager", action="store_true", help="attention that keeps its scores: no flash kernel"
    )
    box = sub.add_argument_group("the box")
    box.add_argument("--gpus", type=int, default=1, metavar="N", help="how many (default: 1)")
    box.add_argument(
        "--sharding",
        choices=SHARDINGS,
        default="ddp",
        help="what the GPUs divide among them (default: ddp, nothing)",
    )
    box.add_argument(
        "--vram",
        metavar="SIZE",
        help="memory of a GPU, like 80G or 79.2GiB: exit 4 if it does not fit, and what would help",
    )
    box.add_argument("--saves", type=int, metavar="N", help="how many saves will be kept")
    json_option(sub)
