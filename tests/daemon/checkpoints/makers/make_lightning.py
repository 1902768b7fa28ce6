"""Good checkpoints of Lightning, Fabric and LitGPT. Usage: make_lightning.py FOLDER."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

torch: Any = importlib.import_module("torch")
lightning: Any = importlib.import_module("lightning")
callbacks: Any = importlib.import_module("lightning.pytorch.callbacks")


class Toy(lightning.LightningModule):
    """One layer that learns to copy."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(width, width)

    def training_step(self, batch: Any, index: int) -> Any:
        loss = ((self.layer(batch[0]) - batch[0]) ** 2).mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", ((self.layer(batch[0]) - batch[0]) ** 2).mean())

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), 1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def fit(home: Path, name: str, *kept: Any, **options: Any) -> Any:
    data = torch.utils.data.TensorDataset(torch.randn(32, 8))
    feed = torch.utils.data.DataLoader(data, batch_size=8)
    trainer = lightning.Trainer(
        max_epochs=3,
        default_root_dir=home / name,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(kept),
        **options,
    )
    trainer.fit(Toy(), feed, feed)
    return trainer


def lit(home: Path) -> None:
    """litgpt.pretrain.save_checkpoint: what `litgpt pretrain` itself calls."""
    try:
        litgpt: Any = importlib.import_module("litgpt")
        pretrain: Any = importlib.import_module("litgpt.pretrain")
    except ImportError as error:
        print(f"litgpt: {error}")
        return
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    shape = {"n_layer": 2, "n_head": 2, "n_embd": 16, "block_size": 16, "padded_vocab_size": 64}
    model = litgpt.GPT(litgpt.Config(**shape))
    model.max_seq_length = 16
    model = fabric.setup(model)
    optimizer = fabric.setup_optimizers(torch.optim.AdamW(model.parameters()))
    fabric.backward(model(torch.zeros(1, 8, dtype=torch.int64)).sum())
    optimizer.step()
    state = {
        "model": model,
        "optimizer": optimizer,
        "train_dataloader": {"epoch": 1},
        "iter_num": 32,
        "step_count": 16,
    }
    # The hyperparameters it writes beside are those of the command line.
    sys.argv = ["litgpt"]
    pretrain.save_hyperparameters = lambda *_: None
    for step in ("step-00000016", "final"):
        pretrain.save_checkpoint(fabric, state, None, home / step / "lit_model.pth")
    pretrain.save_checkpoint(fabric, {"model": model}, None, home / "finetuned" / "lit_model.pth")


def main(home: Path) -> None:
    torch.manual_seed(5)
    torch.set_num_threads(1)
    best = callbacks.ModelCheckpoint(
        home / "top", "{epoch}-{step}-{val_loss:.3f}", "val_loss", save_top_k=2, save_last=True
    )
    stop = callbacks.EarlyStopping("val_loss", patience=5)
    trainer = fit(home, "top", best, stop)
    trainer.save_checkpoint(home / "by_hand.ckpt")
    trainer.save_checkpoint(home / "by_hand_weights.ckpt", weights_only=True)
    light = callbacks.ModelCheckpoint(home / "light", save_weights_only=True, every_n_train_steps=4)
    fit(home, "light", light, precision="bf16-true")
    fit(home, "standard")  # no callback of ours: it makes its own
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    model = fabric.setup(torch.nn.Linear(4, 4))
    optimizer = fabric.setup_optimizers(torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))
    fabric.save(home / "fabric.ckpt", {"model": model, "optimizer": optimizer, "step": 30})
    lit(home / "litgpt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
