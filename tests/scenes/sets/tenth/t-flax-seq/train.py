"""Secondary-structure toy (3 states) with flax.nnx. One Ctrl-C: end after this epoch and save."""
import os
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import pickle, signal, sys, time
from datetime import datetime
import jax, jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

stop = False


def on_sigint(num, frame):
    global stop
    if stop:
        sys.exit(130)
    stop = True
    put("KeyboardInterrupt received - will stop after this epoch (press again to abort)", "WARN")


def put(msg, level="INFO"):
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f}"[:-3] + f" | {level:<8} | __main__:main - {msg}", flush=True)


signal.signal(signal.SIGINT, on_sigint)
open("train.pid", "w").write(str(os.getpid()))
rng = np.random.default_rng(0)
seq = rng.integers(0, 20, (512, 24))
hydro = rng.normal(size=20)
sm = np.apply_along_axis(lambda r: np.convolve(r, np.ones(5) / 5, "same"), 1, hydro[seq])
lab = np.digitize(sm, [-0.25, 0.25])


class Net(nnx.Module):
    def __init__(self, rngs):
        self.emb = nnx.Embed(20, 24, rngs=rngs)
        self.c1 = nnx.Conv(24, 32, (5,), rngs=rngs)
        self.c2 = nnx.Conv(32, 3, (5,), rngs=rngs)

    def __call__(self, s):
        return self.c2(nnx.relu(self.c1(self.emb(s))))


net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.adamw(2e-3), wrt=nnx.Param)


def lossf(m, s, y):
    return optax.softmax_cross_entropy_with_integer_labels(m(s), y).mean()


@nnx.jit
def step(m, o, s, y):
    v, g = nnx.value_and_grad(lossf)(m, s, y)
    o.update(m, g)
    return v


@nnx.jit
def q3(m, s, y):
    return (m(s).argmax(-1) == y).mean()


EPOCHS = 200
put(f"{len(seq)} chains, up to {EPOCHS} epochs")
best = 0.0
for ep in range(EPOCHS):
    vs = []
    for idx in np.split(rng.permutation(448), 14):
        vs.append(float(step(net, opt, seq[idx], lab[idx])))
        time.sleep(0.1)
    acc = float(q3(net, seq[448:], lab[448:]))
    put(f"epoch {ep:03d}: loss={np.mean(vs):.4f} Q3={acc:.4f}")
    if acc > best or stop:
        best = max(acc, best)
        pickle.dump(jax.tree.map(np.asarray, nnx.state(net, nnx.Param).to_pure_dict()), open("model.pkl", "wb"))
    if stop:
        break
put(f"stopped by user after epoch {ep}, model saved to model.pkl (best Q3 {best:.4f})" if stop else "finished", "SUCCESS")
