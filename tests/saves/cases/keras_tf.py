"""Keras and TensorFlow."""

from typing import Any

from ..case import Run, case


def keras_model() -> Any:
    import keras

    model = keras.Sequential(
        [keras.Input((64,)), keras.layers.Dense(128, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    return model


def fit(callbacks: list[Any], epochs: int = 3) -> None:
    import numpy as np

    keras_model().fit(
        np.random.randn(32, 64),
        np.random.randn(32, 1),
        epochs=epochs,
        batch_size=8,
        callbacks=callbacks,
        verbose=0,
        validation_split=0.25,
    )


@case("keras-epochs", "keras", "h5py", "torch")
def keras_epochs(run: Run) -> None:
    import os

    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    fit([keras.callbacks.ModelCheckpoint(str(run.root / "model_{epoch:02d}.keras"))])
    for epoch in (1, 2, 3):
        run.saved(f"model_{epoch:02d}.keras", None)


@case("keras-weights", "keras", "h5py", "torch")
def keras_weights(run: Run) -> None:
    import os

    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    fit(
        [
            keras.callbacks.ModelCheckpoint(
                str(run.root / "w-{epoch:02d}.weights.h5"), save_weights_only=True
            ),
            keras.callbacks.BackupAndRestore(str(run.root / "backup"), delete_checkpoint=False),
        ]
    )
    for epoch in (1, 2, 3):
        run.saved(f"w-{epoch:02d}.weights.h5", None)
    run.saved("backup", None, also=["backup/latest.weights.h5"])


@case("tf-checkpoint", "tensorflow")
def tf_checkpoint(run: Run) -> None:
    """CheckpointManager: an index, a data file, and a text file that names the newest."""
    import tensorflow as tf

    model = keras_model()
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    step = tf.Variable(0)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step, optimizer=optimizer, net=model), str(run.root), max_to_keep=3
    )
    for n in (1, 2, 3, 4):
        step.assign(n * 100)
        manager.save()
        run.half("checkpoint")
        run.saved(
            f"ckpt-{n}.index",
            None,
            also=[f"ckpt-{n}", f"ckpt-{n}.data-00000-of-00001"],
            gone=[f"ckpt-{n - 3}.index"],
        )


@case("tf-saved-model", "tensorflow")
def saved_model(run: Run) -> None:
    import tensorflow as tf

    model = keras_model()
    for epoch in (1, 2, 3):
        tf.saved_model.save(model, str(run.root / f"export_{epoch}"))
        run.saved(f"export_{epoch}", None, resumable=False)


@case("tf-estimator-names", "tensorflow")
def tf_v1(run: Run) -> None:
    """Names of the older Saver: model.ckpt-N, a graph in .meta, several saves of one folder."""
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.get_variable("w", (64, 64))
        tf.compat.v1.get_variable("w/Adam", (64, 64))
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver(max_to_keep=3)
        for step in (1000, 2000, 3000):
            saver.save(session, str(run.root / "model.ckpt"), global_step=step)
            name = f"model.ckpt-{step}"
            run.half("checkpoint", f"{name}.meta")
            run.saved(f"{name}.index", step, also=[name, f"{name}.data-00000-of-00001"])


@case("tflite", "tensorflow")
def tflite(run: Run) -> None:
    import tensorflow as tf

    model = keras_model()
    for epoch in (1, 2, 3):
        data = tf.lite.TFLiteConverter.from_keras_model(model).convert()
        (run.root / f"model_{epoch}.tflite").write_bytes(data)
        run.saved(f"model_{epoch}.tflite", None, resumable=False)
