"""JAX: Orbax, Flax, Equinox, Haiku, NumPy files; tensorstore."""

import pickle
from typing import Any

from ..case import Run, case


def params(step: int = 0) -> dict[str, Any]:
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(step)
    return {
        "dense": {
            "kernel": jnp.asarray(rng.standard_normal((64, 96)), jnp.float32),
            "bias": jnp.zeros(96),
        },
        "head": {"kernel": jnp.asarray(rng.standard_normal((96, 10)), jnp.bfloat16)},
    }


def state(step: int) -> dict[str, Any]:
    import optax

    p = params(step)
    return {"params": p, "opt_state": optax.adam(1e-3).init(p), "step": step}


@case("orbax-manager", "jax", "orbax.checkpoint", "optax")
def orbax_manager(run: Run) -> None:
    import orbax.checkpoint as ocp

    manager = ocp.CheckpointManager(run.root, options=ocp.CheckpointManagerOptions(max_to_keep=3))
    for step in (100, 200, 300):
        manager.save(step, args=ocp.args.StandardSave(state(step)))
        manager.wait_until_finished()
        run.saved(str(step), step, also=[f"{step}/default"])
    manager.close()


@case("orbax-items", "jax", "orbax.checkpoint", "optax")
def orbax_items(run: Run) -> None:
    """Two items of a step and a JSON of metrics, with the prefix of MaxText's users."""
    import orbax.checkpoint as ocp

    options = ocp.CheckpointManagerOptions(
        step_prefix="ckpt", best_fn=lambda m: m["loss"], best_mode="min"
    )
    manager = ocp.CheckpointManager(run.root, options=options)
    for step, loss in ((10, 3.0), (20, 1.0), (30, 2.0)):
        s = state(step)
        manager.save(
            step,
            metrics={"loss": loss},
            args=ocp.args.Composite(
                model=ocp.args.StandardSave(s["params"]),
                optimizer=ocp.args.StandardSave(s["opt_state"]),
                extra=ocp.args.JsonSave({"step": step}),
            ),
        )
        manager.wait_until_finished()
        run.half(f"ckpt_{step}/optimizer")
        run.saved(f"ckpt_{step}", step, also=[f"ckpt_{step}/model"])
    manager.close()


@case("orbax-zarr", "jax", "orbax.checkpoint", "optax")
def orbax_zarr(run: Run) -> None:
    """Without OCDBT: a zarr array a parameter."""
    import orbax.checkpoint as ocp

    for step in (1, 2, 3):
        checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=False))
        checkpointer.save((run.root / f"step_{step}").resolve(), state(step))
        run.saved(f"step_{step}", step)


@case("flax-msgpack", "jax", "flax", "optax")
def flax_legacy(run: Run) -> None:
    """flax.training.checkpoints before Orbax: one msgpack file a step."""
    import flax
    from flax.training import checkpoints

    flax.config.update("flax_use_orbax_checkpointing", False)
    for step in (1000, 2000, 3000):
        checkpoints.save_checkpoint(str(run.root.resolve()), state(step), step, keep=3)
        run.saved(f"checkpoint_{step}", step)


@case("flax-to-bytes", "jax", "flax", "optax")
def flax_bytes(run: Run) -> None:
    """The file of to_bytes, as transformers' Flax models wrote it, and the optimizer in another."""
    from flax.serialization import to_bytes

    for step in (5, 10, 15):
        s = state(step)
        folder = run.root / f"ckpt-{step}"
        folder.mkdir()
        (folder / "flax_model.msgpack").write_bytes(to_bytes(s["params"]))
        (folder / "opt_state.msgpack").write_bytes(to_bytes(s["opt_state"]))
        (folder / "training_state.json").write_text('{"step": %d}' % step)
        run.half(folder / "opt_state.msgpack")
        run.saved(folder, step, also=[folder / "flax_model.msgpack"])


@case("equinox", "jax", "equinox")
def equinox(run: Run) -> None:
    import equinox as eqx
    import jax

    for step in (10, 20, 30):
        model = eqx.nn.MLP(16, 4, 64, 2, key=jax.random.PRNGKey(step))
        eqx.tree_serialise_leaves(run.root / f"model_{step}.eqx", model)
        run.saved(f"model_{step}.eqx", step)


@case("haiku-pickle", "jax", "haiku")
def haiku(run: Run) -> None:
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import numpy as np

    f = hk.transform(lambda x: hk.nets.MLP([128, 64])(x))
    for step in (1, 2, 3):
        p = f.init(jax.random.PRNGKey(step), jnp.ones((1, 64)))
        with (run.root / f"params_{step}.pkl").open("wb") as file:
            pickle.dump(jax.tree.map(np.asarray, p), file)
        run.saved(f"params_{step}.pkl", step)


@case("numpy-npz", "numpy")
def npz(run: Run) -> None:
    import numpy as np

    for step in (1, 2, 3):
        arrays = {f"layer{i}/w": np.random.randn(64, 64).astype("float32") for i in range(3)}
        np.savez(run.root / f"params_{step:04d}.npz", **arrays)
        run.saved(f"params_{step:04d}.npz", step)


@case("tensorstore-zarr3", "tensorstore", "numpy")
def tensorstore(run: Run) -> None:
    import numpy as np
    import tensorstore as ts

    for step in (100, 200):
        for name in ("params.w", "params.b", "opt.m"):
            spec = {
                "driver": "zarr3",
                "kvstore": {"driver": "file", "path": str(run.root / f"step_{step}" / name)},
            }
            array = ts.open(
                spec,
                create=True,
                dtype=ts.float32,
                shape=[128, 64],
                chunk_layout=ts.ChunkLayout(read_chunk_shape=[64, 64], write_chunk_shape=[64, 64]),
            ).result()
            array.write(np.random.randn(128, 64).astype("float32")).result()
        run.saved(f"step_{step}", step)
