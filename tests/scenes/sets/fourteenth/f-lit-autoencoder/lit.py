import time
import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn, optim, utils


class LitAutoEncoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 6))
        self.decoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 64))

    def training_step(self, batch, batch_idx):
        x = batch[0]
        loss = nn.functional.mse_loss(self.decoder(self.encoder(x)), x)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.1)
        return loss

    def validation_step(self, batch, batch_idx):
        x = batch[0]
        self.log("val_loss", nn.functional.mse_loss(self.decoder(self.encoder(x)), x), prog_bar=True)

    def configure_optimizers(self):
        opt = optim.Adam(self.parameters(), lr=2e-3)
        return {"optimizer": opt, "lr_scheduler": optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)}


if __name__ == "__main__":
    L.seed_everything(1)
    basis = torch.randn(5, 64)
    data = torch.tanh(torch.randn(1100, 5) @ basis / 2) + 0.05 * torch.randn(1100, 64)
    ds = utils.data.TensorDataset(data)
    train, val = utils.data.random_split(ds, [960, 140])
    trainer = L.Trainer(max_epochs=8, accelerator="cpu", logger=CSVLogger("logs"), log_every_n_steps=10, num_sanity_val_steps=2,
                        callbacks=[ModelCheckpoint(monitor="val_loss", save_top_k=2, filename="{epoch}-{val_loss:.3f}"), LearningRateMonitor()])
    trainer.fit(LitAutoEncoder(), utils.data.DataLoader(train, batch_size=16, shuffle=True), utils.data.DataLoader(val, batch_size=70))
    print("best:", trainer.checkpoint_callback.best_model_path)
