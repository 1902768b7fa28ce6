import csv
import time

import jax
import jax.numpy as jnp
import optax
from schedule import restarts

SIZES = (8, 64, 64, 1)


def init(key):
    keys = jax.random.split(key, len(SIZES) - 1)
    return [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, SIZES, SIZES[1:])]


def apply(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[:, 0]


def loss_of(params, x, y):
    return jnp.mean((apply(params, x) - y) ** 2)


def main():
    params = init(jax.random.PRNGKey(0))
    lr = restarts()
    opt = optax.chain(optax.sgd(lambda n: lr(n) * 10, momentum=0.9))
    state = opt.init(params)

    @jax.jit
    def update(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = opt.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, optax.global_norm(grads)

    with open("metrics.csv", "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["step", "loss", "grad_norm", "lr"])
        for step in range(400):
            x = jax.random.normal(jax.random.PRNGKey(step + 1), (64, 8))
            y = jnp.sin(x[:, 0]) + x[:, 1] * x[:, 2]
            params, state, loss, norm = update(params, state, x, y)
            time.sleep(0.22)
            if step % 4 == 0:
                table.writerow([step, float(loss), float(norm), float(lr(step)) * 10])
                f.flush()
                print(f"[it {step:4d}/400] loss {float(loss):.5g}  |g| {float(norm):.3g}  lr {float(lr(step)) * 10:.2e}", flush=True)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
