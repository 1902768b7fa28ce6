"""Search of learning rate and width for a small JAX net; bad trials are pruned, diverged ones count as failed."""
import math
import time

import jax
import jax.numpy as jnp
import optax
import optuna


def data(key):
    x = jax.random.normal(key, (128, 10))
    return x, jnp.tanh(x[:, 0] * 2) + 0.3 * x[:, 1] ** 2


def objective(trial):
    lr = trial.suggest_float("lr", 1e-3, 1.0, log=True)
    width = trial.suggest_categorical("width", [8, 16, 32])
    k1, k2, key = jax.random.split(jax.random.PRNGKey(trial.number), 3)
    params = {"a": jax.random.normal(k1, (10, width)) * 0.3, "b": jax.random.normal(k2, (width,)) * 0.3}
    tx = optax.sgd(lr, momentum=0.9)
    state = tx.init(params)

    @jax.jit
    def step(params, state, key):
        x, y = data(key)
        loss, g = jax.value_and_grad(lambda p: jnp.mean((jax.nn.relu(x @ p["a"]) @ p["b"] - y) ** 2))(params)
        up, state = tx.update(g, state)
        return optax.apply_updates(params, up), state, loss

    for i in range(60):
        key, sub = jax.random.split(key)
        params, state, loss = step(params, state, sub)
        time.sleep(0.03)
        if i % 10 == 9:
            loss = float(loss)
            print(f"trial {trial.number:>3} lr={lr:.4f} width={width} step {i + 1:>3} loss {loss:.4f}", flush=True)
            if not math.isfinite(loss):
                return float("nan")
            trial.report(loss, i)
            if trial.should_prune():
                raise optuna.TrialPruned()
    return loss


if __name__ == "__main__":
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=6),
                                pruner=optuna.pruners.MedianPruner(n_startup_trials=4))
    study.optimize(objective, n_trials=24)
    states = [t.state.name for t in study.trials]
    print("trials:", {s: states.count(s) for s in set(states)}, flush=True)
    print(f"best loss {study.best_value:.4f} with {study.best_params}", flush=True)
