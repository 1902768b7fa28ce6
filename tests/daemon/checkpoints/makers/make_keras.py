"""Good checkpoints of Keras, on top of torch. Usage: make_keras.py FOLDER."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "torch"
keras: Any = importlib.import_module("keras")
numpy: Any = importlib.import_module("numpy")


def main(home: Path) -> None:
    keras.utils.set_random_seed(5)
    model = keras.Sequential(
        [keras.layers.Input((8,)), keras.layers.Dense(8), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    keep = keras.callbacks.ModelCheckpoint(str(home / "model-{epoch:02d}.keras"))
    data = numpy.random.rand(16, 8)
    model.fit(data, data.sum(1), epochs=2, verbose=0, callbacks=[keep])
    model.save_weights(home / "model.weights.h5")
    model.save(home / "model_whole.h5")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
