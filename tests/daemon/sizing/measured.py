"""One model in a process of its own: bytes of its tensors after one step, as JSON on standard output.

Parameters are a dictionary and the forward pass is functions: nothing is hidden in a module. Dropout
is ``native_dropout``, whose mask has one byte an element, as on a GPU.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch.utils.checkpoint import checkpoint

Tensors = dict[str, Any]
WIDE = {"fp32": torch.float32, "amp": torch.float32}
"""What the parameters are, where they are not of 16 bits."""
DROPOUT = 0.1


class Lion:
    """What an optimizer of Chen et al. 2023 (algorithm 2) does in a step: torch has none."""

    def __init__(self, params: list[Any]) -> None:
        self.params = params
        self.state: dict[Any, Tensors] = {}

    def step(self) -> None:
        with torch.no_grad():
            for p in self.params:
                mean = self.state.setdefault(p, {"exp_avg": torch.zeros_like(p)})["exp_avg"]
                p.add_(mean.lerp(p.grad, 0.1).sign_(), alpha=-1e-4)
                mean.lerp_(p.grad, 0.01)


def optimizers() -> dict[str, Callable[[list[Any]], Any]]:
    """Each optimizer that is installed, by the name that ``size`` has for it."""
    found: dict[str, Callable[[list[Any]], Any]] = {
        "sgd": lambda ps: torch.optim.SGD(ps, lr=1e-3),
        "sgd-momentum": lambda ps: torch.optim.SGD(ps, lr=1e-3, momentum=0.9),
        "adam": lambda ps: torch.optim.Adam(ps, lr=1e-3),
        "adamw": lambda ps: torch.optim.AdamW(ps, lr=1e-3),
        "adafactor": lambda ps: torch.optim.Adafactor(ps, lr=1e-3),
        "lion": Lion,
    }
    with contextlib.suppress(ImportError):
        import bitsandbytes

        found["adam8bit"] = lambda ps: bitsandbytes.optim.AdamW8bit(ps, lr=1e-3)
    return found


def parameters(m: dict[str, Any], kind: Any) -> Tensors:
    """The parameters of a model, by name."""
    torch.manual_seed(0)
    h, kv = m["hidden"], m["hidden"] // m["heads"] * (m["kv_heads"] or m["heads"])
    shapes: dict[str, tuple[int, ...]] = {"words": (m["vocab"], h)}
    if m["plain"]:
        shapes["places"] = (m["seq"], h)
    for n in range(m["layers"]):
        one: dict[str, tuple[int, ...]] = {
            "norm1": (h,), "qkv": (h + 2 * kv, h), "out": (h, h), "norm2": (h,)
        }  # fmt: skip
        if m["plain"]:
            one |= {"up": (4 * h, h), "down": (h, 4 * h)}
            one |= {f"{k}_bias": (s[0],) for k, s in one.items()}
        else:
            inner = (8 * h // 3 + 15) // 16 * 16
            one |= {"gate": (inner, h), "up": (inner, h), "down": (h, inner)}
        shapes |= {f"{n}.{k}": s for k, s in one.items()}
    shapes["norm"] = (h,)
    if not m["tied"]:
        shapes["head"] = (m["vocab"], h)
    return {
        k: torch.nn.Parameter((torch.randn(s) * 0.02 + (len(s) == 1)).to(kind))
        for k, s in shapes.items()
    }


def dropped(x: Any, m: dict[str, Any]) -> Any:
    return torch.native_dropout(x, DROPOUT, True)[0] if m["plain"] else x


def normed(x: Any, p: Tensors, name: str, m: dict[str, Any]) -> Any:
    if m["plain"]:
        return F.layer_norm(x, x.shape[-1:], p[name], p.get(f"{name}_bias"))
    return F.rms_norm(x, x.shape[-1:], p[name])


def attention(x: Any, p: Tensors, n: int, m: dict[str, Any]) -> Any:
    batch, seq, h = x.shape
    size = h // m["heads"]
    kv = size * (m["kv_heads"] or m["heads"])
    made = F.linear(x, p[f"{n}.qkv"], p.get(f"{n}.qkv_bias"))
    q, k, v = (
        part.view(batch, seq, -1, size).transpose(1, 2) for part in made.split([h, kv, kv], dim=-1)
    )
    if m["fused"]:
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=bool(m["kv_heads"]))
    else:
        later = torch.ones(seq, seq, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-1, -2) / size**0.5).masked_fill(later, float("-inf"))
        y = dropped(scores.softmax(-1), m) @ v
    y = y.transpose(1, 2).reshape(batch, seq, h)
    return F.linear(y, p[f"{n}.out"], p.get(f"{n}.out_bias"))


def perceptron(x: Any, p: Tensors, n: int, m: dict[str, Any]) -> Any:
    up = F.linear(x, p[f"{n}.up"], p.get(f"{n}.up_bias"))
    inner = F.gelu(up) if m["plain"] else F.silu(F.linear(x, p[f"{n}.gate"])) * up
    return F.linear(inner, p[f"{n}.down"], p.get(f"{n}.down_bias"))


def block(x: Any, p: Tensors, n: int, m: dict[str, Any]) -> Any:
    x = x + dropped(attention(normed(x, p, f"{n}.norm1", m), p, n, m), m)
    return x + dropped(perceptron(normed(x, p, f"{n}.norm2", m), p, n, m), m)


def blocks(x: Any, p: Tensors, m: dict[str, Any]) -> Any:
    for n in range(m["layers"]):
        x = block(x, p, n, m)
    return x


def loss(tokens: Any, p: Tensors, m: dict[str, Any]) -> Any:
    x = F.embedding(tokens, p["words"])
    if m["plain"]:
        x = x + p["places"]
    x = normed(blocks(dropped(x, m), p, m), p, "norm", m)
    logits = F.linear(x, p["words" if m["tied"] else "head"])
    return F.cross_entropy(logits.float().flatten(0, 1), tokens.roll(-1, 1).flatten())


def storages(tensors: Iterable[Any]) -> int:
    """Bytes of the distinct storages behind tensors."""
    found = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(found.values())


def kept_for_backward(run: Callable[[], Any], p: Tensors) -> int:
    """Bytes that autograd keeps while ``run`` goes forward, without parameters and copies of them."""
    own = {t.untyped_storage().data_ptr() for t in p.values()}
    found: list[Any] = []

    def pack(t: Any) -> Any:
        found.append(t)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = run()
    made = [t for t in found if t.untyped_storage().data_ptr() not in own]
    size = storages(t for t in made if not _is_copy(t, p))
    del result
    return size


def _is_copy(t: Any, p: Tensors) -> bool:
    """Whether a tensor is what autocast has made of a parameter."""
    turned = t.t() if t.dim() == 2 else t
    return any(
        w.dtype != t.dtype and w.shape == one.shape and torch.equal(one, w.to(t.dtype))
        for w in p.values()
        for one in (t, turned)
    )


def one_step(m: dict[str, Any], precision: str, make: Callable[[list[Any]], Any]) -> dict[str, int]:
    """Bytes after a step."""
    p = parameters(m, WIDE.get(precision, torch.bfloat16))
    own = list(p.values())
    masters = [t.detach().float().requires_grad_() for t in own] if precision == "bf16" else []
    optimizer = make(masters or own)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "amp"):
        told = loss(tokens_of(m), p, m)
    told.backward()
    for master, t in zip(masters, own, strict=bool(masters)):
        master.grad = t.grad.float()
    optimizer.step()
    for master, t in zip(masters, own, strict=bool(masters)):
        master.grad = None
        t.data.copy_(master)
    state = [(k, t) for one in optimizer.state.values() for k, t in one.items()]
    return {
        "weights": storages(own),
        "gradients": storages(t.grad for t in own),
        "master": storages(masters),
        "state": storages(t for _, t in state if torch.is_tensor(t)),
    }


def tokens_of(m: dict[str, Any]) -> Any:
    torch.manual_seed(1)
    return torch.randint(m["vocab"], (m["batch"], m["seq"]))


def activations(m: dict[str, Any], precision: str) -> dict[str, int]:
    """Bytes kept for the backward pass: of the blocks, of all, of the blocks with checkpointing."""
    kind = WIDE.get(precision, torch.bfloat16)
    p = parameters(m, kind)
    x = torch.randn(m["batch"], m["seq"], m["hidden"], dtype=kind, requires_grad=True)

    def again() -> Any:
        y = x
        for n in range(m["layers"]):
            y = checkpoint(block, y, p, n, m, use_reentrant=True, preserve_rng_state=False)
        return y

    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "amp"):
        return {
            "blocks": kept_for_backward(lambda: blocks(x, p, m), p),
            "all": kept_for_backward(lambda: loss(tokens_of(m), p, m), p),
            "checkpointed": kept_for_backward(again, p),
        }


def main() -> None:
    """Measure the model whose description is the argument."""
    torch.set_num_threads(1)
    m: dict[str, Any] = json.loads(sys.argv[1])
    result: dict[str, Any] = {
        "shapes": [list(t.shape) for t in parameters(m, torch.float32).values()],
        "steps": {},
        "activations": {},
    }
    for precision in ("fp32", "bf16", "amp", "bf16-pure"):
        result["activations"][precision] = activations(m, precision)
        result["steps"][precision] = {
            name: one_step(m, precision, make) for name, make in optimizers().items()
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
