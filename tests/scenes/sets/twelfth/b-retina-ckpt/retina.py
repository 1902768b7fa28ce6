import time

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Grader(L.LightningModule):
    """Grades diabetic retinopathy 0..4."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(6), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(432, 1200), nn.ReLU(), nn.Dropout(0.2), nn.Linear(1200, 5))

    def forward(self, x):
        return self.head(self.stem(x))

    def training_step(self, batch, i):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("loss", loss)
        time.sleep(0.35)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        out = self(x)
        self.log_dict({"val_loss": F.cross_entropy(out, y), "val_acc": (out.argmax(1) == y).float().mean()})

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=4e-4)


class Printer(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, i):
        if i % 4 == 0:
            print(f"epoch {trainer.current_epoch} batch {i}/{trainer.num_training_batches} loss {outputs['loss'].item():.4f}")

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            m = trainer.callback_metrics
            print(f"epoch {trainer.current_epoch} val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.3f}")


def data(n):
    y = torch.randint(0, 5, (n,))
    x = torch.rand(n, 3, 64, 64) + y[:, None, None, None] * 0.1
    return TensorDataset(x, y)


if __name__ == "__main__":
    L.seed_everything(1)
    ckpt = ModelCheckpoint(dirpath="checkpoints", filename="retina-{epoch:02d}-{val_acc:.2f}", save_top_k=-1)
    trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_progress_bar=False,
                        num_sanity_val_steps=0, callbacks=[Printer(), ckpt])
    trainer.fit(Grader(), DataLoader(data(192), 8, shuffle=True), DataLoader(data(48), 16))
    print("best", ckpt.best_model_path)
