"""Wortmodell mit wachsender Satzlänge (Lehrplan in drei Stufen), flax und optax."""
import os
import pickle
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

V = 200
STUFEN = [(16, 110, 0.2), (32, 80, 0.45), (64, 60, 0.9)]  # Länge, Schritte, Rechenzeit


class Modell(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(V, 48)(x)
        h = nn.RNN(nn.GRUCell(features=64))(h)
        return nn.Dense(V)(h)


def satz(rng, laenge, stufe):
    x = np.empty((8, laenge), dtype=np.int32)
    x[:, 0] = rng.integers(0, V, 8)
    for j in range(1, laenge):
        sprung = rng.choice([3, 5, 9, 14, 22][: 2 + stufe], 8)  # mit jeder Stufe mehr Freiheit
        x[:, j] = (x[:, j - 1] * 3 + sprung) % V
    return x


modell = Modell()
params = modell.init(jax.random.PRNGKey(0), jnp.zeros((8, 16), jnp.int32))
opt = optax.adam(5e-3)
zustand = opt.init(params)


@jax.jit
def schritt_fn(params, zustand, x):
    def verlust(p):
        return optax.softmax_cross_entropy_with_integer_labels(modell.apply(p, x[:, :-1]), x[:, 1:]).mean()

    wert, grad = jax.value_and_grad(verlust)(params)
    neu, zustand = opt.update(grad, zustand)
    return optax.apply_updates(params, neu), zustand, wert


rng = np.random.default_rng(0)
schritt = 0
os.makedirs("stand", exist_ok=True)
for stufe, (laenge, anzahl, dauer) in enumerate(STUFEN, 1):
    print(f"{time.strftime('%H:%M:%S')} Stufe {stufe}: Satzlänge {laenge}, {anzahl} Schritte (übersetze neu ...)", flush=True)
    for _ in range(anzahl):
        params, zustand, wert = schritt_fn(params, zustand, satz(rng, laenge, stufe - 1))
        schritt += 1
        time.sleep(dauer)
        if schritt % 5 == 0:
            print(f"{time.strftime('%H:%M:%S')} Schritt {schritt:4d}  Verlust {float(wert):.4f}", flush=True)
    with open(f"stand/stufe{stufe}.pkl", "wb") as f:
        pickle.dump(jax.device_get(params), f)
    print(f"{time.strftime('%H:%M:%S')} Stand gesichert: stand/stufe{stufe}.pkl", flush=True)
print("Training beendet", flush=True)
