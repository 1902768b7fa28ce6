"""A real training on a real GPU, with one real trouble at a step; its reports go to stdout.

``gpu_training.py MODE [AT]``: ``none``, ``busy`` (a neighbour: it only keeps the GPU busy), ``oom``, ``assert`` (an index
outside an embedding), ``illegal`` (a kernel writes where nothing is), ``overflow`` (float16 at a learning rate that
overflows it), ``lock`` (a thread that never comes), ``spin`` (a kernel that does not end, as a collective that waits for
another rank) or ``save`` (a checkpoint of the GPU's tensors, and on). A step takes about 0.1 s.
"""

import os
import sys
import threading
import time
from typing import Any

import torch

MODE = sys.argv[1]
AT = int(sys.argv[2]) if len(sys.argv) > 2 else 60
LAST = 5000 if MODE != "finish" else AT
HEAVY = "GPU_HEAVY" in os.environ
"""As much as the card can do, instead of ten steps a second."""
WIDTH = 8192 if HEAVY else 2048


def neighbour() -> None:
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    while True:
        for _ in range(20):
            matrix = torch.tanh(matrix @ matrix)
        torch.cuda.synchronize()


def write_where_nothing_is() -> None:
    import triton
    import triton.language as tl

    @triton.jit
    def store(pointer: Any, size: Any) -> None:
        tl.store(pointer + (1 << 40) + tl.arange(0, 128), 1.0)

    store[(1,)](torch.zeros(128, device="cuda"), 128)
    torch.cuda.synchronize()


class Model(torch.nn.Module):
    """Tokens to tokens; large enough that the GPU has something to do."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(1000, WIDTH)
        self.layers = torch.nn.Sequential(
            *(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()) for _ in range(4))
        )
        self.head = torch.nn.Linear(WIDTH, 1000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens)))


def trouble(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    """What comes at the step; gives the tokens of the batch."""
    if MODE == "oom":
        torch.cuda.set_per_process_memory_fraction(0.1)  # the neighbours keep theirs
        kept = []
        while True:
            kept.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
    if MODE == "assert":
        return tokens + 1000
    if MODE == "illegal":
        write_where_nothing_is()
    if MODE == "lock":
        threading.Event().wait()
    if MODE == "spin":
        torch.cuda._sleep(1 << 62)
        torch.cuda.synchronize()
    if MODE == "save":
        torch.save({"model": model.state_dict(), "step": AT}, f"checkpoint-{AT}.pt")
        print(f"saved checkpoint-{AT}.pt", flush=True)
    return tokens


def main() -> None:
    if MODE == "busy":
        neighbour()
    torch.manual_seed(0)
    half = MODE == "overflow"
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    print(f"training on {torch.cuda.get_device_name()}", flush=True)
    for step in range(1, LAST + 1):
        began = time.monotonic()
        tokens = torch.randint(0, 1000, (16384 if HEAVY else 4096,), device="cuda")
        targets = (tokens * 7 + 3) % 1000
        if step == AT:
            tokens = trouble(model, tokens)
            if half:
                for group in optimizer.param_groups:
                    group["lr"] = 30.0
        with torch.autocast("cuda", dtype=torch.float16 if half else torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(tokens), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(
            f"step {step}/{LAST} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.1e}",
            flush=True,
        )
        time.sleep(0.0 if HEAVY else max(0.0, 0.1 - (time.monotonic() - began)))
    print("training complete", flush=True)


main()
