import os
os.environ["KERAS_BACKEND"] = "jax"
import time

import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits


class Sample(layers.Layer):
    """Draws z and adds beta * KL to the loss; beta is a variable that the schedule sets."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed = keras.random.SeedGenerator(1)
        self.kl = keras.metrics.Mean(name="kl")

    def build(self, shape):
        self.beta = self.add_weight(name="beta", shape=(), initializer="zeros", trainable=False)

    def call(self, inputs):
        mu, logvar = inputs
        kl = ops.mean(0.5 * ops.sum(ops.square(mu) + ops.exp(logvar) - 1.0 - logvar, axis=1))
        self.add_loss(self.beta * kl)
        return mu + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mu), seed=self.seed)


class Anneal(keras.callbacks.Callback):
    """beta: 0 for `wait` epochs, then up to `top` in `ramp` epochs."""

    def __init__(self, layer, wait=8, ramp=12, top=3.0):
        super().__init__()
        self.layer, self.wait, self.ramp, self.top = layer, wait, ramp, top

    def on_epoch_begin(self, epoch, logs=None):
        self.layer.beta.assign(self.top * float(np.clip((epoch - self.wait + 1) / self.ramp, 0, 1)))

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1:2d}/{self.params['epochs']} beta={float(self.layer.beta):.2f} loss={logs['loss']:.3f} val_loss={logs['val_loss']:.3f}", flush=True)


def main():
    keras.utils.set_random_seed(4)
    x = (load_digits().data / 16.0).astype("float32")
    inp = keras.Input((64,))
    h = layers.Dense(96, "relu")(inp)
    mu, logvar = layers.Dense(8)(h), layers.Dense(8)(h)
    sample = Sample()
    z = sample([mu, logvar])
    out = layers.Dense(64)(layers.Dense(96, "relu")(z))
    vae = keras.Model(inp, out, name="vae")

    def recon(y, p):
        return 20.0 * ops.sum(ops.square(y - p), axis=-1)

    vae.compile(keras.optimizers.Adam(4e-3), recon)
    print("VAE on digits, KL annealing to beta=3 over epochs 9 to 20", flush=True)
    vae.fit(x[:1500], x[:1500], batch_size=75, epochs=28, validation_data=(x[1500:], x[1500:]), verbose=0, callbacks=[Anneal(sample)])
    vae.save_weights("vae.weights.h5")
    print("weights saved", flush=True)


main()
