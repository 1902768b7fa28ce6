import time
import torch, torch.nn as nn
import lightning.pytorch as pl
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

pl.seed_everything(42)
X, y = load_wine(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(StandardScaler().fit_transform(X), y, test_size=.3, random_state=0)
ds = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))


class Wine(pl.LightningModule):
    def __init__(self, lr=4e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def _loss(self, batch, name):
        out = self.net(batch[0])
        loss = nn.functional.cross_entropy(out, batch[1])
        self.log(f"{name}_loss", loss, prog_bar=True, on_epoch=True)
        return loss

    def training_step(self, batch, i):
        time.sleep(.3)
        return self._loss(batch, "train")

    def validation_step(self, batch, i):
        time.sleep(.1)
        return self._loss(batch, "val")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


es = EarlyStopping("val_loss", patience=6, verbose=True)
ck = ModelCheckpoint(monitor="val_loss", save_top_k=1, filename="wine-{epoch}-{val_loss:.3f}")
tr = pl.Trainer(max_epochs=100, accelerator="cpu", callbacks=[es, ck], logger=CSVLogger("logs"), log_every_n_steps=4)
tr.fit(Wine(), DataLoader(ds(Xa, ya), 16, shuffle=True), DataLoader(ds(Xb, yb), 32))
print("best", ck.best_model_path, float(ck.best_model_score))
tr.validate(dataloaders=DataLoader(ds(Xb, yb), 32), ckpt_path="best", weights_only=False)
