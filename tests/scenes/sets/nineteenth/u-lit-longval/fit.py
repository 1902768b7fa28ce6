import time, warnings
import lightning as L, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1); L.seed_everything(7)
x = torch.randn(320, 10); y = x.pow(2).sum(1, keepdim=True) / 10

class Lit(L.LightningModule):
    def __init__(self):
        super().__init__(); self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    def training_step(self, b, i):
        l = nn.functional.mse_loss(self.net(b[0]), b[1]); self.log("train_loss", l, prog_bar=True); time.sleep(.08); return l
    def validation_step(self, b, i):
        for _ in range(9): time.sleep(.25); p = self.net(b[0])
        self.log("val_loss", nn.functional.mse_loss(p, b[1]), prog_bar=True)
    def on_validation_end(self):
        if not self.trainer.sanity_checking:
            print(f"\nepoch {self.current_epoch}: val_loss {self.trainer.callback_metrics['val_loss']:.4f}")
    def configure_optimizers(self): return torch.optim.Adam(self.parameters(), 5e-3)

tr = L.Trainer(max_epochs=3, accelerator="cpu", logger=False, num_sanity_val_steps=1, log_every_n_steps=5,
               callbacks=[L.pytorch.callbacks.ModelCheckpoint("ck", monitor="val_loss", save_top_k=1)])
tr.fit(Lit(), DataLoader(TensorDataset(x[:256], y[:256]), 16, shuffle=True), DataLoader(TensorDataset(x[256:], y[256:]), 16))
print("best:", tr.checkpoint_callback.best_model_path)
