"""Leaf pictures. First a range test for the step size (up until it breaks), then the training with an eighth of the best."""
import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)


def leaves(n):
    y = rng.integers(0, 4, n)
    yy, xx = np.mgrid[-1:1:16j, -1:1:16j]
    x = np.stack([np.exp(-(xx * (1 + k)) ** 2 - (yy * (4 - k)) ** 2) + 0.35 * rng.normal(size=(16, 16)) for k in y])
    return x[..., None].astype("float32"), y


def build(lr):
    m = keras.Sequential([keras.layers.Input((16, 16, 1)), keras.layers.Conv2D(12, 3, activation="relu"),
                          keras.layers.MaxPooling2D(), keras.layers.Flatten(), keras.layers.Dense(32, activation="relu"),
                          keras.layers.Dense(4)])
    m.compile(keras.optimizers.SGD(lr, momentum=0.9), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return m


def range_test(steps=110, lo=1e-4, hi=3e2):
    print(f"range test: {steps} steps from {lo:g} to {hi:g}, weights are thrown away afterwards", flush=True)
    m, seen = build(lo), []
    for i in range(steps):
        lr = lo * (hi / lo) ** (i / (steps - 1))
        m.optimizer.learning_rate.assign(lr)
        loss = float(m.train_on_batch(*leaves(32))[0])
        m.reset_metrics()
        seen.append((lr, loss))
        time.sleep(0.3)
        if i % 5 == 4 or not np.isfinite(loss):
            print(f"range test {i + 1:3d}/{steps}  lr {lr:.2e}  loss {loss:.4g}", flush=True)
        if not np.isfinite(loss):
            break
    ok = [(l, r) for r, l in seen if np.isfinite(l)]
    best = min(ok)[1]
    print(f"range test over: lowest loss at lr {best:.2e}, ended at {seen[-1][0]:.2e}; training with {best / 8:.2e}", flush=True)
    return best / 8


def main():
    os.makedirs("ckpt", exist_ok=True)
    m = build(range_test())
    xv, yv = leaves(400)
    for epoch in range(1, 25):
        tot = []
        for _ in range(12):
            out = m.train_on_batch(*leaves(32))
            m.reset_metrics()
            tot.append(float(out[0]))
            time.sleep(0.25)
        v = m.evaluate(xv, yv, verbose=0)
        print(f"epoch {epoch:2d}/24  loss {np.mean(tot):.4f}  val_loss {v[0]:.4f}  val_accuracy {v[1]:.3f}", flush=True)
        if epoch % 6 == 0:
            m.save(f"ckpt/leaves_{epoch:02d}.keras")
    print("done", flush=True)


if __name__ == "__main__":
    main()
