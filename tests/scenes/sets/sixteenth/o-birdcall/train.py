import os
import pickle
import time

import jax
import optax
from flax.training import train_state
from tqdm import tqdm

from model import Spotter, clips

with open("job.pid", "w") as f:
    f.write(str(os.getpid()))
net = Spotter()
key = jax.random.PRNGKey(7)
params = net.init(key, clips(key, 2)[0])["params"]
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.adamw(2e-3))


@jax.jit
def step(state, mel, y):
    def loss_fn(p):
        logits = state.apply_fn({"params": p}, mel)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


for epoch in range(1, 31):
    bar = tqdm(range(40), desc=f"epoch {epoch}/30", mininterval=1.0, ascii=True)
    for _ in bar:
        key, sub = jax.random.split(key)
        mel, y = clips(sub, 16)
        state, loss = step(state, mel, y)
        bar.set_postfix(loss=f"{float(loss):.3f}", refresh=False)
        time.sleep(0.12)
    with open("birdcall.tmp", "wb") as f:
        pickle.dump(jax.device_get(state.params), f)
    os.replace("birdcall.tmp", "birdcall.pkl")
    print(f"epoch {epoch} done, loss {float(loss):.4f}, wrote birdcall.pkl", flush=True)
