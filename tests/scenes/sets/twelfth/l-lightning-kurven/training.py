import logging
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
L.seed_everything(5)


class Kurvenmodell(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.netz = nn.Sequential(nn.Linear(10, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))

    def training_step(self, batch, _):
        x, y = batch
        verlust = nn.functional.huber_loss(self.netz(x), y)
        time.sleep(0.08)
        self.log("verlust", verlust, prog_bar=True)
        return verlust

    def validation_step(self, batch, _):
        x, y = batch
        time.sleep(0.1)
        self.log("pruef_verlust", nn.functional.huber_loss(self.netz(x), y), prog_bar=True)

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            logging.info("Epoche %d abgeschlossen, Prüfverlust %.4f", self.current_epoch + 1, self.trainer.callback_metrics["pruef_verlust"])

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=4e-3)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)]


x = torch.randn(1280, 10)
y = torch.sin(x[:, :1]) * x[:, 1:2] + 0.1 * torch.randn(1280, 1)
lernen = DataLoader(TensorDataset(x[:1024], y[:1024]), batch_size=32, shuffle=True)
pruefen = DataLoader(TensorDataset(x[1024:], y[1024:]), batch_size=32)
trainer = L.Trainer(
    max_epochs=16, accelerator="cpu", accumulate_grad_batches=2, log_every_n_steps=5, gradient_clip_val=1.0,
    logger=CSVLogger("protokoll"), enable_model_summary=True,
    callbacks=[ModelCheckpoint("modelle", monitor="pruef_verlust", save_top_k=2, save_last=True), LearningRateMonitor(), TQDMProgressBar(refresh_rate=8)],
)
trainer.fit(Kurvenmodell(), lernen, pruefen)
logging.info("Fertig, bestes Modell: %s", trainer.checkpoint_callback.best_model_path)
