import json
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

CYCLES = json.load(open("cycles.json"))
BATCH = 64


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(64, 96, rngs=rngs)
        self.b = nnx.Linear(96, 96, rngs=rngs)
        self.c = nnx.Linear(96, 10, rngs=rngs)

    def __call__(self, x):
        return self.c(nnx.relu(self.b(nnx.relu(self.a(x)))))


def loss_fn(net, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()


@nnx.jit
def train_step(net, opt, x, y):
    loss, grads = nnx.value_and_grad(loss_fn)(net, x, y)
    opt.update(net, grads)
    return loss


@nnx.jit
def accuracy(net, x, y):
    return (net(x).argmax(-1) == y).mean()


def main():
    x, y = load_digits(return_X_y=True)
    x, xv, y, yv = train_test_split(jnp.asarray(x / 16.0, jnp.float32), jnp.asarray(y), test_size=0.2, random_state=0)
    schedule = optax.sgdr_schedule([dict(init_value=c["peak"] / 20, peak_value=c["peak"], warmup_steps=c["warmup"],
                                         decay_steps=c["steps"], end_value=c["peak"] / 50) for c in CYCLES])
    net = Net(nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.sgd(schedule, momentum=0.9), wrt=nnx.Param)
    total = sum(c["steps"] for c in CYCLES)
    print(f"digits: {len(x)} train, {len(xv)} val, {len(CYCLES)} cycles, {total} steps", flush=True)
    key = jax.random.key(1)
    for step in range(1, total + 1):
        key, k = jax.random.split(key)
        at = jax.random.randint(k, (BATCH,), 0, len(x))
        loss = train_step(net, opt, x[at], y[at])
        time.sleep(0.05)
        if step % 20 == 0:
            acc = float(accuracy(net, xv, yv))
            print(f"step {step:5d}  lr {float(schedule(step)):.5f}  loss {float(loss):.4f}  val_acc {acc:.3f}", flush=True)
    print("done")


if __name__ == "__main__":
    main()
