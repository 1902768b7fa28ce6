#!/usr/bin/env python3
"""A real character-level language model, trained by gradient descent in plain Python.

It needs nothing but the standard library, learns visibly within seconds, prints the lines
that training scripts print, and can be driven into real trouble: with ``--raise-lr-at`` or
``--raise-lr-when`` the learning rate is raised while it trains, and the loss becomes NaN by the
arithmetic itself.

    toy_trainer.py --steps 300 --save-every 100 --out checkpoints
    toy_trainer.py --steps 300 --raise-lr-at 150 --raise-to 500
    toy_trainer.py --steps 600 --resume checkpoints/step-000300.safetensors

The model reads three characters and predicts the next: embeddings, one hidden layer of
leaky rectifiers, a softmax (Bengio et al. 2003, made small). Weights and activations are
rounded to single precision, so that they overflow where those of a tensor library do.
Checkpoints are safetensors files, written whole.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import struct
import sys
import time
from array import array
from collections.abc import Iterable
from operator import mul
from pathlib import Path

TEXT = """\
The lamp stood on the chart table and the night stood all around the ship. The mate had the
middle watch, from midnight until four, the hours when nothing is supposed to happen. He read
the log, he read the glass, he walked to the rail and looked at the dark water, and then he
read the log again. A good watch is made of small looks, he used to say. One look tells you
nothing. Two looks tell you whether the thing has moved.

Below him the engine turned at the pace it had kept since the harbour. He knew the sound so
well that he heard it only when it changed. When the sound was lower than it ought to be, he
went down the ladder and asked. When the sound was gone, he did not ask; he rang the bell. He
never rang the bell for a gull, or a cloud, or a light that was a star. The captain slept well
because of it, and came on deck at once when the bell did ring.

There is an art to waking a person. You say what has happened, and when. You say what you saw
with your own eyes, and what you only think. You say what has already been done, and you name
one safe thing to do next. Then you are quiet, and hold the lamp, and let them look.

At two the wind went round to the north and the sea began to lift. The mate wrote the hour and
the heading in the log, and the reading of the glass, and under it a line: the cargo is fast,
the pumps are dry, the boats are clear. He had been to the hold to see for himself. A line in
the log is worth what the walk behind it was worth.

At three a fog came down, and he could not see the bow. So he wrote that too. It is no shame
to be blind in a fog; it is a shame to write that the way is clear. He posted a man forward,
sounded the horn, and counted the seconds until the cliff gave the sound back.

At four the next watch came up the ladder with coffee and bad jokes. The mate handed over the
lamp, the log, and the truth about the night: what had moved, what had not, and what he had
been unable to see. Then he went below and slept, and the ship went on towards the morning.
"""

CONTEXT = 3
EMBEDDING = 8
HIDDEN = 24
BATCH = 32
LEAK = 0.1

Matrix = list[list[float]]


def matmul(a: Matrix, b: Matrix) -> Matrix:
    """The product of two matrices. Products and sums overflow to inf, and inf - inf is nan."""
    columns = list(zip(*b))  # noqa: B905  rows of a matrix have one length
    return [[sum(map(mul, row, column)) for column in columns] for row in a]


def transposed(a: Matrix) -> Matrix:
    """Rows become columns."""
    return [list(column) for column in zip(*a)]  # noqa: B905


def single(values: Iterable[float]) -> list[float]:
    """Rounded to single precision, as tensor libraries count; what is too large becomes inf."""
    return array("f", values).tolist()


def softmax(logits: list[float]) -> tuple[list[float], float]:
    """Probabilities, and the logarithm of the sum that cross-entropy needs.

    The largest logit is taken off first, so that ``exp`` cannot overflow; with an infinite
    logit that difference is inf - inf, and everything after it is nan.
    """
    top = max(logits)
    powers = [math.exp(z - top) for z in logits]
    total = sum(powers)
    return [p / total for p in powers], top + math.log(total)


class Model:
    """Weights, the forward pass, and the gradients worked out by hand."""

    def __init__(self, vocabulary: int, rng: random.Random) -> None:
        width = CONTEXT * EMBEDDING

        def normal(rows: int, columns: int, scale: float) -> Matrix:
            return [single(rng.gauss(0.0, scale) for _ in range(columns)) for _ in range(rows)]

        self.tensors: dict[str, Matrix] = {
            "embedding.weight": normal(vocabulary, EMBEDDING, 0.5),
            "hidden.weight": normal(width, HIDDEN, (2 / width) ** 0.5),
            "hidden.bias": [[0.0] * HIDDEN],
            "head.weight": normal(HIDDEN, vocabulary, (1 / HIDDEN) ** 0.5),
            "head.bias": [[0.0] * vocabulary],
        }

    def forward(self, contexts: list[list[int]]) -> tuple[Matrix, Matrix, Matrix]:
        """Inputs, hidden layer before its rectifier, and logits of a batch of contexts."""
        t = self.tensors
        table = t["embedding.weight"]
        inputs = [[value for char in context for value in table[char]] for context in contexts]
        before = _plus(matmul(inputs, t["hidden.weight"]), t["hidden.bias"][0])
        return inputs, before, _plus(matmul(_leaky(before), t["head.weight"]), t["head.bias"][0])

    def loss(self, contexts: list[list[int]], targets: list[int]) -> float:
        """Mean cross-entropy in nats."""
        logits = self.forward(contexts)[2]
        lost = [softmax(row)[1] - row[target] for row, target in zip(logits, targets, strict=True)]
        return single([sum(lost) / len(lost)])[0]

    def train(self, contexts: list[list[int]], targets: list[int], lr: float) -> float:
        """One step of gradient descent; the loss before it."""
        t = self.tensors
        inputs, before, logits = self.forward(contexts)
        after = _leaky(before)
        lost = 0.0
        d_logits: Matrix = []
        for row, target in zip(logits, targets, strict=True):
            chances, log_total = softmax(row)
            lost += log_total - row[target]
            chances[target] -= 1.0
            d_logits.append([p / len(targets) for p in chances])
        d_after = matmul(d_logits, transposed(t["head.weight"]))
        d_before = [
            [d if x > 0 else d * LEAK for d, x in zip(row, was, strict=True)]
            for row, was in zip(d_after, before, strict=True)
        ]
        d_inputs = matmul(d_before, transposed(t["hidden.weight"]))
        d_table = [[0.0] * EMBEDDING for _ in t["embedding.weight"]]
        for context, row in zip(contexts, d_inputs, strict=True):
            for place, char in enumerate(context):
                for i in range(EMBEDDING):
                    d_table[char][i] += row[place * EMBEDDING + i]
        gradients = {
            "embedding.weight": d_table,
            "hidden.weight": matmul(transposed(inputs), d_before),
            "hidden.bias": [[sum(column) for column in transposed(d_before)]],
            "head.weight": matmul(transposed(after), d_logits),
            "head.bias": [[sum(column) for column in transposed(d_logits)]],
        }
        for name, gradient in gradients.items():
            t[name] = [
                single(w - lr * g for w, g in zip(ws, gs, strict=True))
                for ws, gs in zip(t[name], gradient, strict=True)
            ]
        return single([lost / len(targets)])[0]


def _plus(rows: Matrix, bias: list[float]) -> Matrix:
    return [single(x + b for x, b in zip(row, bias, strict=True)) for row in rows]


def _leaky(rows: Matrix) -> Matrix:
    # Leaky, so that no unit is ever dead: a diverging run diverges instead of freezing.
    return [[x if x > 0 else x * LEAK for x in row] for row in rows]


class Text:
    """The characters as numbers; the last tenth is held out for evaluation."""

    def __init__(self, text: str, seed: int) -> None:
        self.letters = sorted(set(text))
        numbers = {letter: i for i, letter in enumerate(self.letters)}
        codes = [numbers[letter] for letter in text]
        cut = len(codes) * 9 // 10
        self.parts = {"train": codes[:cut], "val": codes[cut:]}
        self.seed = seed

    def batch(self, part: str, number: int) -> tuple[list[list[int]], list[int]]:
        """Batch ``number``: the same for the same seed, so that a resumed run repeats nothing."""
        codes = self.parts[part]
        rng = random.Random(f"{self.seed} {part} {number}")
        starts = [rng.randrange(len(codes) - CONTEXT) for _ in range(BATCH)]
        return [codes[s : s + CONTEXT] for s in starts], [codes[s + CONTEXT] for s in starts]


def save(path: Path, tensors: dict[str, Matrix], metadata: dict[str, str]) -> None:
    """Write a safetensors file whole: a temporary file beside it, fsync, rename.

    The format: the header's length (8 bytes, little-endian), a JSON header padded with
    spaces to a multiple of eight, then the numbers, row by row.
    """
    header: dict[str, object] = {"__metadata__": metadata}
    body = bytearray()
    for name, rows in sorted(tensors.items()):
        numbers = array("f", [value for row in rows for value in row])
        if sys.byteorder == "big":
            numbers.byteswap()
        begin = len(body)
        body += numbers.tobytes()
        shape = [len(rows[0])] if name.endswith(".bias") else [len(rows), len(rows[0])]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(body)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def load(path: Path) -> tuple[dict[str, Matrix], dict[str, str]]:
    """Tensors and metadata of a file that :func:`save` wrote."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors: dict[str, Matrix] = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        numbers = array("f", data[begin:end])
        if sys.byteorder == "big":
            numbers.byteswap()
        width = entry["shape"][-1]
        flat = numbers.tolist()
        tensors[name] = [flat[i : i + width] for i in range(0, len(flat), width)]
    return tensors, metadata


def evaluate(model: Model, text: Text, at_least_s: float) -> tuple[float, float]:
    """Mean training and held-out loss over at least ten batches of each and ``at_least_s``."""
    begun = time.perf_counter()
    losses: dict[str, list[float]] = {"train": [], "val": []}
    while len(losses["val"]) < 10 or time.perf_counter() - begun < at_least_s:
        for part, values in losses.items():
            values.append(model.loss(*text.batch(part, -1 - len(values))))
    train, val = (sum(values) / len(values) for values in losses.values())
    return train, val


def options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Train a small character-level language model in plain Python.",
        epilog="example: toy_trainer.py --steps 300 --save-every 100 --out checkpoints",
    )
    add = parser.add_argument
    add("--steps", type=int, default=300, metavar="N", help="last step (default 300)")
    add("--lr", type=float, default=0.3, help="learning rate (default 0.3)")
    add("--raise-lr-at", type=int, metavar="STEP", help="from this step on, train with --raise-to")
    add("--raise-lr-when", type=Path, metavar="FILE", help="the same, once there is such a file")
    add("--raise-to", type=float, default=500.0, metavar="LR", help="the raised rate (default 500)")
    add("--save-every", type=int, default=0, metavar="N", help="a checkpoint every N steps")
    add("--out", type=Path, default=Path("checkpoints"), metavar="DIR", help="where to save")
    add("--resume", type=Path, metavar="FILE", help="go on from a checkpoint")
    add("--eval-every", type=int, default=0, metavar="N", help="evaluate every N steps")
    add("--eval-s", type=float, default=0.0, metavar="S", help="print nothing for S while at it")
    add("--log-every", type=int, default=1, metavar="N", help="a line every N steps (default 1)")
    add("--sleep", type=float, default=0.0, metavar="S", help="wait S seconds after each step")
    add("--flush", action="store_true", help="flush every line (default: as Python buffers)")
    add("--seed", type=int, default=1337, help="of weights and batches (default 1337)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Train as the command line says."""
    asked = options(arguments)
    text = Text(TEXT, asked.seed)
    model = Model(len(text.letters), random.Random(asked.seed))
    first = 0

    def say(line: str) -> None:
        print(line, flush=asked.flush)

    if asked.resume:
        model.tensors, metadata = load(asked.resume)
        first = int(metadata["step"])
        say(f"resuming from {asked.resume} at step {first}")
    count = sum(len(rows) * len(rows[0]) for rows in model.tensors.values())
    say(f"vocab size {len(text.letters)}, {count} parameters, {asked.steps} steps, lr {asked.lr:g}")
    raised = False
    for step in range(first, asked.steps + 1):
        if asked.eval_every and step % asked.eval_every == 0:
            train, val = evaluate(model, text, asked.eval_s)
            say(f"step {step}: train loss {train:.4f}, val loss {val:.4f}")
        # The weights of step N are those before its update: a resumed run does step N itself.
        if asked.save_every and step > first and step % asked.save_every == 0:
            path = asked.out / f"step-{step:06d}.safetensors"
            save(path, model.tensors, {"format": "pt", "step": str(step)})
            say(f"saved checkpoint to {path}")
        raised = raised or (asked.raise_lr_at is not None and step >= asked.raise_lr_at)
        raised = raised or (asked.raise_lr_when is not None and asked.raise_lr_when.exists())
        lr = asked.raise_to if raised else asked.lr
        begun = time.perf_counter()
        loss = model.train(*text.batch("train", step), lr)
        took_ms = (time.perf_counter() - begun) * 1000
        if step % asked.log_every == 0:
            say(f"iter {step}: loss {loss:.4f}, lr {lr:.1e}, time {took_ms:.1f}ms")
        if asked.sleep:
            time.sleep(asked.sleep)
    say(f"training finished after step {asked.steps}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
