#!/usr/bin/env python
# coding: utf-8
# In[1]:
import os, time
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# In[2]:
rng = np.random.default_rng(0)
protos = rng.normal(size=(5, 20, 20, 3))
y = rng.integers(0, 5, 1200)
x = (protos[y] * .5 + rng.normal(size=(1200, 20, 20, 3))).astype("float32")
y[rng.random(1200) < .08] = 0

# In[3]:
model = keras.Sequential([
    layers.Input((20, 20, 3)), layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Flatten(), layers.Dropout(.3), layers.Dense(5, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()


# In[4]:
class Breathe(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(.12)


hist = model.fit(x, y, epochs=10, batch_size=32, validation_split=.15, verbose=1,
                 callbacks=[Breathe(), keras.callbacks.ModelCheckpoint("flowers.keras", save_best_only=True),
                            keras.callbacks.ReduceLROnPlateau(patience=2, verbose=1)])
# In[5]:
print("best val acc", max(hist.history["val_accuracy"]))
