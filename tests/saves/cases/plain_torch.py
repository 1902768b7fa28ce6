"""Files and folders of scripts that call torch.save themselves, each by its own convention."""

import random
import shutil
import tarfile
from pathlib import Path
from typing import Any

from ..case import Run, case


def net(width: int = 48) -> tuple[Any, Any, Any]:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.BatchNorm1d(width), torch.nn.Linear(width, 10)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    return model, optimizer, scheduler


def train(model: Any, optimizer: Any, scheduler: Any = None, width: int = 48) -> float:
    import torch

    loss = torch.nn.functional.cross_entropy(
        model(torch.randn(8, width)), torch.randint(0, 10, (8,))
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if scheduler is not None:
        scheduler.step()
    return float(loss)


@case("torch-pair", "torch")
def pair(run: Run) -> None:
    """Model and optimizer in two files of one step."""
    import torch

    model, optimizer, _ = net()
    for step in (100, 200, 300):
        train(model, optimizer)
        torch.save(model.state_dict(), run.root / f"model_{step}.pt")
        torch.save(optimizer.state_dict(), run.root / f"optimizer_{step}.pt")
        run.half(f"optimizer_{step}.pt")
        run.saved(f"model_{step}.pt", step, also=[f"optimizer_{step}.pt"])


@case("torch-gan", "torch")
def gan(run: Run) -> None:
    """Generator and discriminator, each with its own optimizer (so-vits-svc, VITS, HiFi-GAN)."""
    import torch

    g, og, _ = net()
    d, od, _ = net(32)
    for step in (1000, 2000, 3000):
        train(g, og)
        train(d, od, width=32)
        for letter, m, o in (("G", g, og), ("D", d, od)):
            torch.save(
                {
                    "model": m.state_dict(),
                    "iteration": step,
                    "optimizer": o.state_dict(),
                    "learning_rate": 1e-4,
                },
                run.root / f"{letter}_{step}.pth",
            )
        run.half(f"D_{step}.pth")
        run.saved(f"G_{step}.pth", step, also=[f"D_{step}.pth"])


@case("torch-guided-diffusion", "torch")
def guided(run: Run) -> None:
    """guided-diffusion, consistency models: model, EMA and optimizer in three files."""
    import torch

    model, optimizer, _ = net()
    for step in (10000, 20000, 30000):
        train(model, optimizer)
        torch.save(model.state_dict(), run.root / f"model{step:06d}.pt")
        torch.save(model.state_dict(), run.root / f"ema_0.9999_{step:06d}.pt")
        torch.save(optimizer.state_dict(), run.root / f"opt{step:06d}.pt")
        run.half(f"opt{step:06d}.pt", f"ema_0.9999_{step:06d}.pt")
        run.saved(
            f"model{step:06d}.pt", step, also=[f"opt{step:06d}.pt", f"ema_0.9999_{step:06d}.pt"]
        )


@case("torch-imagenet", "torch")
def imagenet(run: Run) -> None:
    """The ImageNet example: one file, written over, and a copy of the best."""
    import torch

    model, optimizer, scheduler = net()
    best = 0.0
    for epoch, acc in enumerate((10.0, 30.0, 20.0)):
        train(model, optimizer, scheduler)
        state = {
            "epoch": epoch + 1,
            "arch": "resnet18",
            "state_dict": model.state_dict(),
            "best_acc1": max(best, acc),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }
        torch.save(state, run.root / "checkpoint.pth.tar")
        if acc > best:
            best = acc
            shutil.copyfile(run.root / "checkpoint.pth.tar", run.root / "model_best.pth.tar")
            run.saved("model_best.pth.tar", None)
        run.saved("checkpoint.pth.tar", None)
    run.best = "model_best.pth.tar"


@case("torch-nanogpt", "torch")
def nanogpt(run: Run) -> None:
    import torch

    model, optimizer, _ = net()
    for step in (250, 500, 750):
        train(model, optimizer)
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "model_args": {"n_layer": 2},
                "iter_num": step,
                "best_val_loss": torch.tensor(2.5),
                "config": {"out_dir": "out"},
            },
            run.root / "ckpt.pt",
        )
        run.saved("ckpt.pt", step)


@case("torch-fairseq", "torch")
def fairseq(run: Run) -> None:
    """Names of fairseq: an epoch, an epoch and an update, last, best."""
    import argparse

    import torch

    model, optimizer, _ = net()
    for epoch in (1, 2, 3):
        train(model, optimizer)
        state = {
            "args": argparse.Namespace(arch="transformer"),
            "model": model.state_dict(),
            "optimizer_history": [{"num_updates": 500 * epoch}],
            "last_optimizer_state": optimizer.state_dict(),
            "extra_state": {"epoch": epoch, "best": 3.1, "train_iterator": {"epoch": epoch}},
        }
        for name in (f"checkpoint{epoch}.pt", "checkpoint_best.pt", "checkpoint_last.pt"):
            if name != "checkpoint_best.pt" or epoch < 3:
                torch.save(state, run.root / name)
                run.saved(name, None)
    run.best = "checkpoint_best.pt"


@case("torch-epoch-folders", "torch")
def epoch_folders(run: Run) -> None:
    """A folder an epoch, a file a thing, names of the author's own."""
    import torch

    model, optimizer, scheduler = net()
    for epoch in (1, 2, 3):
        train(model, optimizer, scheduler)
        folder = run.root / f"epoch{epoch:02d}"
        folder.mkdir()
        torch.save(model.state_dict(), folder / "net.pth")
        torch.save(optimizer.state_dict(), folder / "optim.pth")
        torch.save(scheduler.state_dict(), folder / "sched.pth")
        torch.save(
            {"torch": torch.get_rng_state(), "python": random.getstate()}, folder / "rng.pth"
        )
        (folder / "meta.json").write_text('{"epoch": %d}\n' % epoch)
        run.half(folder / "optim.pth", folder / "sched.pth", folder / "rng.pth")
        run.saved(folder, None)


@case("torch-jit", "torch")
def jit(run: Run) -> None:
    import torch

    model, optimizer, _ = net()
    for epoch in (1, 2, 3):
        train(model, optimizer)
        torch.jit.save(torch.jit.script(model), run.root / f"model_epoch{epoch}.pt")
        run.saved(f"model_epoch{epoch}.pt", None)


@case("torch-export", "torch")
def export(run: Run) -> None:
    import torch

    model, optimizer, _ = net()
    for step in (10, 20, 30):
        train(model, optimizer)
        torch.export.save(
            torch.export.export(model.eval(), (torch.randn(8, 48),)), run.root / f"model_{step}.pt2"
        )
        model.train()
        run.saved(f"model_{step}.pt2", step)


@case("torch-lora-alone", "torch", "safetensors")
def lora_alone(run: Run) -> None:
    """kohya-ss: a LoRA file an epoch, the state of accelerate in a folder beside it."""
    import torch
    from accelerate import Accelerator
    from safetensors.torch import save_file

    accelerator = Accelerator(cpu=True)
    model, optimizer, scheduler = net()
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    for epoch in (1, 2, 3):
        train(model, optimizer, scheduler)
        lora = {
            f"lora_unet_{i}.lora_down.weight": torch.randn(8, 320, dtype=torch.float16)
            for i in range(4)
        }
        save_file(
            lora,
            run.root / f"style-{epoch:06d}.safetensors",
            {"ss_epoch": str(epoch), "ss_steps": str(epoch * 50)},
        )
        run.saved(f"style-{epoch:06d}.safetensors", None, resumable=False)
        accelerator.save_state(str(run.root / f"style-{epoch:06d}-state"))
        folder = run.root / f"style-{epoch:06d}-state"
        (folder / "train_state.json").write_text(
            '{"current_epoch": %d, "current_step": %d}' % (epoch, epoch * 50)
        )
        run.saved(folder, None)


@case("nemo", "torch", "yaml")
def nemo(run: Run) -> None:
    """The layout of a .nemo file: a tar with a configuration and a torch file."""
    import torch
    import yaml

    model, optimizer, _ = net()
    for step in (100, 200, 300):
        train(model, optimizer)
        work = run.folder / "work"
        work.mkdir(exist_ok=True)
        torch.save(model.state_dict(), work / "model_weights.ckpt")
        (work / "model_config.yaml").write_text(
            yaml.safe_dump({"target": "nemo.asr", "sample_rate": 16000})
        )
        with tarfile.open(run.root / f"asr--step={step}.nemo", "w:") as tar:
            tar.add(work, arcname=".")
        shutil.rmtree(work)
        run.saved(f"asr--step={step}.nemo", step, resumable=False)


@case("timm", "torch", "timm")
def timm(run: Run) -> None:
    import argparse

    from timm.utils import CheckpointSaver

    model, optimizer, _ = net()
    saver = CheckpointSaver(
        model=model,
        optimizer=optimizer,
        args=argparse.Namespace(model="resnet18"),
        checkpoint_dir=str(run.root),
        recovery_dir=str(run.root),
        max_history=3,
    )
    for epoch, acc in enumerate((10.0, 30.0, 20.0)):
        train(model, optimizer)
        saver.save_checkpoint(epoch, metric=acc)
        run.saved(f"checkpoint-{epoch}.pth.tar", None, also=["last.pth.tar", "model_best.pth.tar"])
    run.best = "model_best.pth.tar"


@case("mmengine", "torch", "mmengine")
def mmengine(run: Run) -> None:
    import torch
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    class Toy(BaseModel):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)

        def forward(self, x: Any, y: Any, mode: str = "loss") -> Any:
            return {"loss": ((self.layer(x) - y) ** 2).mean()}

    data = torch.utils.data.TensorDataset(torch.randn(16, 64), torch.randn(16, 64))
    runner = Runner(
        model=Toy(),
        work_dir=str(run.root),
        train_dataloader=torch.utils.data.DataLoader(data, batch_size=4),
        train_cfg={"by_epoch": True, "max_epochs": 3},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.1}},
        default_hooks={"checkpoint": {"type": "CheckpointHook", "interval": 1}},
    )
    runner.train()
    for epoch in (1, 2, 3):
        run.saved(f"epoch_{epoch}.pth", None)


@case("ignite", "torch", "ignite")
def ignite(run: Run) -> None:
    from ignite.engine import Engine, Events
    from ignite.handlers import Checkpoint, DiskSaver

    model, optimizer, _ = net()

    def step(engine: Engine, batch: int) -> float:
        return train(model, optimizer)

    trainer = Engine(step)
    handler = Checkpoint(
        {"model": model, "optimizer": optimizer, "trainer": trainer},
        DiskSaver(str(run.root), require_empty=False),
        n_saved=None,
        global_step_transform=lambda e, _: e.state.iteration,
    )
    scores = iter((0.5, 0.8, 0.7))
    best = Checkpoint(
        {"model": model},
        DiskSaver(str(run.root), require_empty=False),
        filename_prefix="best",
        n_saved=1,
        score_function=lambda _: next(scores),
        score_name="acc",
        global_step_transform=lambda e, _: e.state.iteration,
    )
    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=100), handler)
    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=100), best)
    trainer.run(range(300), max_epochs=1)
    name = next(run.root.glob("best_model_*"))
    run.saved(name, None, resumable=False)
    run.best = name.name
    for n in (100, 200, 300):
        run.saved(f"checkpoint_{n}.pt", n)


@case("skorch", "torch", "skorch")
def skorch(run: Run) -> None:
    """Parameters, optimizer, criterion and history in files of their own."""
    import numpy as np
    import torch
    from skorch import NeuralNetClassifier
    from skorch.callbacks import Checkpoint

    module = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2), torch.nn.Softmax(-1)
    )
    net_ = NeuralNetClassifier(
        module,
        max_epochs=3,
        optimizer=torch.optim.Adam,
        callbacks=[Checkpoint(dirname=str(run.root), monitor=None)],
    )
    net_.fit(np.random.randn(64, 64).astype("float32"), np.random.randint(0, 2, 64))
    run.half("optimizer.pt", "criterion.pt", "history.json")
    run.saved("params.pt", None, also=["optimizer.pt", "criterion.pt", "history.json"])


@case("fastai", "torch", "fastai")
def fastai(run: Run) -> None:
    import torch
    from fastai.callback.tracker import SaveModelCallback
    from fastai.data.core import DataLoaders
    from fastai.data.load import DataLoader
    from fastai.learner import Learner

    data = [(torch.randn(48), torch.randint(0, 10, ())) for _ in range(32)]
    model, _, _ = net()
    learner = Learner(
        DataLoaders(DataLoader(data, bs=8), DataLoader(data, bs=8)),
        model,
        loss_func=torch.nn.CrossEntropyLoss(),
        path=run.root,
    )
    learner.fit(3, cbs=SaveModelCallback(every_epoch=True, with_opt=True))
    for epoch in range(3):
        run.saved(Path("models") / f"model_{epoch}.pth", None)


@case("ultralytics", "torch", "ultralytics")
def ultralytics(run: Run) -> None:
    """The files of its trainer (last, best, every epoch), by its own way of writing them."""
    import io
    from copy import deepcopy

    import torch
    from ultralytics.nn.tasks import DetectionModel
    from ultralytics.utils.torch_utils import ModelEMA

    model = DetectionModel("yolov8n.yaml", ch=3, nc=2, verbose=False)
    ema = ModelEMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sum(p.square().sum() for p in model.parameters() if p.requires_grad).backward()
    optimizer.step()
    folder = run.root / "weights"
    folder.mkdir()
    for epoch in range(2):
        buffer = io.BytesIO()
        torch.save(
            {
                "epoch": epoch,
                "best_fitness": 0.1,
                "model": None,
                "ema": deepcopy(ema.ema).half(),
                "updates": epoch,
                "optimizer": deepcopy(optimizer.state_dict()),
                "scaler": {},
                "train_args": {"epochs": 2},
                "train_metrics": {},
                "train_results": {},
                "date": "2026-01-01",
                "version": "8",
            },
            buffer,
        )
        for name in ("last.pt", f"epoch{epoch}.pt") + (("best.pt",) if epoch == 0 else ()):
            (folder / name).write_bytes(buffer.getvalue())
            run.saved(folder / name, None)
    run.best = "weights/best.pt"
    run.resume_from = "weights/last.pt"
