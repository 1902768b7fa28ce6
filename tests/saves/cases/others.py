"""Lightning, distributed torch, Megatron, boosters, scikit-learn, reinforcement learning, exports, other frameworks."""

import os
import pickle
from pathlib import Path
from typing import Any

from ..case import Run, case
from .plain_torch import net, train


def alone(port: int) -> None:
    """A process group of one."""
    import torch.distributed as dist

    os.environ |= {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    dist.init_process_group("gloo")


@case("lightning", "torch", "lightning")
def lightning(run: Run) -> None:
    import lightning as L
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Toy(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)
            self.n = 0

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layer(batch[0]).square().mean()
            self.n += 1
            self.log("score", float(-abs(self.n - 4)))
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters())

    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(8, 64)), batch_size=4
    )
    keep = ModelCheckpoint(
        str(run.root),
        monitor="score",
        mode="max",
        save_top_k=2,
        save_last=True,
        save_on_train_epoch_end=True,
    )
    L.Trainer(
        max_epochs=4, callbacks=[keep], logger=False, accelerator="cpu", enable_progress_bar=False
    ).fit(Toy(), data)
    for path in sorted(keep.best_k_models):
        run.saved(path, None)
    run.best = Path(keep.best_model_path).name
    run.saved("last.ckpt", 4)  # written with the best ones only: it says global_step 4 itself


@case("dcp", "torch")
def dcp(run: Run) -> None:
    """torchtitan: a folder a step of torch.distributed.checkpoint."""
    import torch.distributed.checkpoint as dcp

    alone(29711)
    model, optimizer, _ = net()
    for step in (100, 200, 300):
        train(model, optimizer)
        dcp.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
            checkpoint_id=str(run.root / f"step-{step}"),
        )
        run.saved(f"step-{step}", step)


@case("dcp-two-folders", "torch")
def dcp_two(run: Run) -> None:
    """Model and optimizer as two DCP folders of one step, a torch file of the rest."""
    import torch
    import torch.distributed.checkpoint as dcp

    alone(29712)
    model, optimizer, scheduler = net()
    for step in (100, 200, 300):
        train(model, optimizer, scheduler)
        folder = run.root / f"step{step}"
        dcp.save({"model": model.state_dict()}, checkpoint_id=str(folder / "model"))
        dcp.save({"optim": optimizer.state_dict()}, checkpoint_id=str(folder / "optim"))
        torch.save({"step": step, "scheduler": scheduler.state_dict()}, folder / "train_state.pt")
        run.half(folder / "optim", folder / "train_state.pt")
        run.saved(folder, step, also=[folder / "model"])


@case("megatron-dist", "torch", "megatron.core")
def megatron(run: Run) -> None:
    """torch_dist: a DCP folder, common.pt and metadata.json in iter_N, a tracker beside."""
    import torch
    from megatron.core import dist_checkpointing, parallel_state
    from megatron.core.dist_checkpointing import ShardedTensor

    torch.cuda.synchronize = lambda *_args, **_named: None  # it asks for one even on a CPU
    alone(29713)
    parallel_state.initialize_model_parallel()
    model, optimizer, _ = net()
    for step in (100, 200, 300):
        train(model, optimizer)
        folder = run.root / f"iter_{step:07d}"
        folder.mkdir()
        state: dict[str, Any] = {
            k: ShardedTensor.from_rank_offsets(k, v)
            for k, v in model.state_dict().items()
            if v.dim()
        }
        state |= {
            "iteration": step,
            "args": {"lr": 1e-4},
            "opt_param_scheduler": {"num_steps": step},
        }
        dist_checkpointing.save(state, str(folder))
        (run.root / "latest_checkpointed_iteration.txt").write_text(str(step))
        run.saved(folder, step)


@case("megatron-ranks", "torch")
def megatron_legacy(run: Run) -> None:
    """The older layout: a folder a model-parallel rank, the distributed optimizer in a file of its own."""
    import torch

    model, optimizer, _ = net()
    for step in (1000, 2000, 3000):
        train(model, optimizer)
        folder = run.root / f"iter_{step:07d}"
        for rank in range(2):
            part = folder / f"mp_rank_{rank:02d}"
            part.mkdir(parents=True)
            torch.save(
                {"iteration": step, "model": model.state_dict(), "checkpoint_version": 3.0},
                part / "model_optim_rng.pt",
            )
            torch.save({"optimizer": optimizer.state_dict()}, part / "distrib_optim.pt")
            run.half(part / "distrib_optim.pt")
        (run.root / "latest_checkpointed_iteration.txt").write_text(str(step))
        run.saved(folder, step)


@case("litgpt-folders", "torch")
def litgpt(run: Run) -> None:
    """litgpt pretrain: a folder a step with lit_model.pth, the settings beside it; final/ at the end."""
    import torch

    model, optimizer, _ = net()
    for name, step in (("step-00000100", 100), ("step-00000200", 200), ("final", 300)):
        train(model, optimizer)
        folder = run.root / name
        folder.mkdir()
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "iter_num": step * 2,
                "step_count": step,
            },
            folder / "lit_model.pth",
        )
        (folder / "hyperparameters.yaml").write_text("precision: null\n")
        (folder / "model_config.yaml").write_text("name: tiny\n")
        run.saved(folder, step, also=[folder / "lit_model.pth"])


@case("xgboost-ubj", "xgboost")
def xgb_ubj(run: Run) -> None:
    _xgb(run, as_pickle=False)


@case("xgboost-json", "xgboost")
def xgb_json(run: Run) -> None:
    import numpy as np
    import xgboost

    data = xgboost.DMatrix(np.random.randn(400, 20), np.random.randn(400))
    booster = None
    for n in (10, 20, 30):
        booster = xgboost.train(
            {"max_depth": 6, "nthread": 1}, data, num_boost_round=10, xgb_model=booster
        )
        booster.save_model(run.root / f"booster-{n}.json")
        run.saved(f"booster-{n}.json", n)


def _xgb(run: Run, as_pickle: bool) -> None:
    import numpy as np
    import xgboost

    data = xgboost.DMatrix(np.random.randn(400, 20), np.random.randn(400))
    back = xgboost.callback.TrainingCheckPoint(
        directory=run.root, interval=10, name="model", as_pickle=as_pickle
    )
    xgboost.train({"max_depth": 6, "nthread": 1}, data, num_boost_round=31, callbacks=[back])
    for file in sorted(run.root.iterdir(), key=lambda p: int(p.stem.rsplit("_")[-1])):
        run.saved(file, int(file.stem.rsplit("_")[-1]))


@case("xgboost-pickle", "xgboost")
def xgb_pickle(run: Run) -> None:
    _xgb(run, as_pickle=True)


@case("lightgbm", "lightgbm")
def lightgbm(run: Run) -> None:
    import lightgbm
    import numpy as np

    data = lightgbm.Dataset(np.random.randn(800, 20), np.random.randn(800))
    for n in (20, 40, 60):
        lightgbm.train({"verbosity": -1, "num_threads": 1}, data, num_boost_round=n).save_model(
            run.root / f"model.txt.snapshot_iter_{n}"
        )
        run.saved(f"model.txt.snapshot_iter_{n}", n)


@case("catboost", "catboost")
def catboost(run: Run) -> None:
    import numpy as np
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        iterations=30,
        train_dir=str(run.root / "info"),
        save_snapshot=True,
        snapshot_file="snapshot.cbsnapshot",
        snapshot_interval=0,
        thread_count=1,
        verbose=False,
    )
    model.fit(np.random.randn(400, 10), np.random.randn(400))
    run.saved("info/snapshot.cbsnapshot", None)
    model.save_model(str(run.root / "model.cbm"))
    run.saved("model.cbm", None, resumable=False)


def forest(n: int) -> Any:
    import numpy as np
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=n, n_jobs=1).fit(
        np.random.randn(300, 8), np.random.randn(300)
    )


@case("joblib-plain", "joblib", "sklearn")
def joblib_plain(run: Run) -> None:
    import joblib

    for n in (5, 10, 15):
        joblib.dump(forest(n), run.root / f"forest_{n}.joblib")
        run.saved(f"forest_{n}.joblib", n)


@case("joblib-zlib", "joblib", "sklearn")
def joblib_zlib(run: Run) -> None:
    import joblib

    for n in (5, 10, 15):
        joblib.dump(forest(n), run.root / f"forest_{n}.pkl", compress=3)
        run.saved(f"forest_{n}.pkl", n)


@case("sklearn-pickle", "sklearn")
def sklearn_pickle(run: Run) -> None:
    for n in (5, 10, 15):
        with (run.root / f"model_iter{n}.pickle").open("wb") as file:
            pickle.dump(forest(n), file)
        run.saved(f"model_iter{n}.pickle", n)


@case("stable-baselines", "torch", "stable_baselines3", "gymnasium")
def stable_baselines(run: Run) -> None:
    from stable_baselines3 import DQN
    from stable_baselines3.common.callbacks import CheckpointCallback

    model = DQN("MlpPolicy", "CartPole-v1", learning_starts=10, buffer_size=500, device="cpu")
    model.learn(300, callback=CheckpointCallback(100, str(run.root), save_replay_buffer=True))
    for step in (100, 200, 300):
        run.half(f"rl_model_replay_buffer_{step}_steps.pkl")
        run.saved(
            f"rl_model_{step}_steps.zip", step, also=[f"rl_model_replay_buffer_{step}_steps.pkl"]
        )
    model.save(run.root / "best_model.zip")
    run.saved("best_model.zip", None)
    run.resume_from = "rl_model_300_steps.zip"
    run.best = "best_model.zip"


@case("gguf", "gguf", "numpy")
def gguf(run: Run) -> None:
    import gguf
    import numpy as np

    for step in (100, 200, 300):
        w = gguf.GGUFWriter(str(run.root / f"model-{step}-f16.gguf"), "llama")
        w.add_block_count(2)
        w.add_context_length(128)
        for i in range(4):
            w.add_tensor(f"blk.{i}.attn_q.weight", np.random.randn(64, 64).astype(np.float16))
        q = gguf.quants.quantize(
            np.random.randn(64, 64).astype(np.float32), gguf.GGMLQuantizationType.Q8_0
        )
        w.add_tensor("output.weight", q, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        run.saved(f"model-{step}-f16.gguf", step, resumable=False)


def onnx_model(seed: int) -> Any:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(seed)
    weight = numpy_helper.from_array(rng.standard_normal((64, 64)).astype("float32"), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])],
        [weight],
    )
    model = helper.make_model(graph)
    onnx.checker.check_model(model)
    return model


@case("onnx", "onnx", "numpy")
def onnx_files(run: Run) -> None:
    import onnx

    for epoch in (1, 2, 3):
        onnx.save(onnx_model(epoch), str(run.root / f"model_{epoch}.onnx"))
        run.saved(f"model_{epoch}.onnx", None, resumable=False)


@case("onnx-external", "onnx", "numpy")
def onnx_external(run: Run) -> None:
    import onnx

    for epoch in (1, 2, 3):
        onnx.save(
            onnx_model(epoch),
            str(run.root / f"model_{epoch}.onnx"),
            save_as_external_data=True,
            location=f"model_{epoch}.onnx.data",
            size_threshold=0,
        )
        run.saved(f"model_{epoch}.onnx", None, resumable=False, also=[f"model_{epoch}.onnx.data"])


@case("spacy", "spacy")
def spacy(run: Run) -> None:
    """spacy train: model-last and model-best, written over."""
    import spacy

    nlp = spacy.blank("en")
    cat = nlp.add_pipe("textcat")
    cat.add_label("A")
    cat.add_label("B")
    nlp.initialize()
    for name in ("model-best", "model-last", "model-last"):
        nlp.to_disk(run.root / name)
        run.saved(name, None, resumable=False)
    run.best = "model-best"


@case("paddle", "paddle")
def paddle_plain(run: Run) -> None:
    import paddle

    model = paddle.nn.Linear(64, 64)
    optimizer = paddle.optimizer.Adam(parameters=model.parameters())
    for step in (100, 200, 300):
        model(paddle.randn([4, 64])).mean().backward()
        optimizer.step()
        paddle.save(model.state_dict(), str(run.root / f"model_{step}.pdparams"))
        paddle.save(optimizer.state_dict(), str(run.root / f"model_{step}.pdopt"))
        run.half(f"model_{step}.pdopt")
        run.saved(f"model_{step}.pdparams", step, also=[f"model_{step}.pdopt"])


@case("paddlenlp", "paddle")
def paddlenlp(run: Run) -> None:
    """The folder of PaddleNLP's Trainer, written by paddle.save as it does."""
    import json

    import numpy as np
    import paddle

    model = paddle.nn.Linear(64, 64)
    schedule = paddle.optimizer.lr.StepDecay(0.1, 10)
    optimizer = paddle.optimizer.Adam(schedule, parameters=model.parameters())
    for step in (100, 200, 300):
        model(paddle.randn([4, 64])).mean().backward()
        optimizer.step()
        folder = run.root / f"checkpoint-{step}"
        folder.mkdir()
        paddle.save(model.state_dict(), str(folder / "model_state.pdparams"))
        paddle.save(optimizer.state_dict(), str(folder / "optimizer.pdopt"))
        paddle.save(schedule.state_dict(), str(folder / "scheduler.pdparams"))
        paddle.save(
            {
                "numpy": np.random.get_state(),
                "cpu": paddle.framework.core.default_cpu_generator().get_state().current_seed(),
            },
            str(folder / "rng_state.pth"),
        )
        paddle.save({"learning_rate": 1e-4}, str(folder / "training_args.bin"))
        (folder / "trainer_state.json").write_text(
            json.dumps(
                {"global_step": step, "epoch": step / 100, "log_history": [], "max_steps": 300}
            )
        )
        (folder / "config.json").write_text('{"architectures": ["X"]}')
        run.half(folder / "optimizer.pdopt", folder / "scheduler.pdparams")
        run.saved(folder, step)


@case("mindspore", "mindspore")
def mindspore(run: Run) -> None:
    import mindspore as ms

    model = ms.nn.Dense(64, 64)
    for step in (100, 200, 300):
        ms.save_checkpoint(
            model,
            str(run.root / f"net-1_{step}.ckpt"),
            append_dict={"epoch_num": 1, "step_num": step},
        )
        run.saved(f"net-1_{step}.ckpt", step)


@case("mindspore-safetensors", "mindspore")
def mindspore_safe(run: Run) -> None:
    import mindspore as ms

    model = ms.nn.Dense(64, 64)
    for step in (100, 200, 300):
        ms.save_checkpoint(model, str(run.root / f"net-1_{step}"), format="safetensors")
        run.saved(f"net-1_{step}.safetensors", step)


@case("safetensors-pair", "torch", "safetensors")
def plain_safetensors(run: Run) -> None:
    """Weights in safetensors, the trainer's own state in JSON, in one folder of all steps."""
    from safetensors.torch import save_file

    model, optimizer, _ = net()
    for step in (10, 20, 30):
        train(model, optimizer)
        save_file(dict(model.state_dict()), run.root / f"weights_{step}.safetensors")
        flat = {
            f"{i}.{k}": v for i, s in optimizer.state_dict()["state"].items() for k, v in s.items()
        }
        save_file(flat, run.root / f"optim_{step}.safetensors")
        (run.root / f"state_{step}.json").write_text('{"step": %d}' % step)
        run.half(f"optim_{step}.safetensors", f"state_{step}.json")
        run.saved(
            f"weights_{step}.safetensors",
            step,
            also=[f"optim_{step}.safetensors", f"state_{step}.json"],
        )
