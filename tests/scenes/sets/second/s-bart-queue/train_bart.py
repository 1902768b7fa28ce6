import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import json
import sys
import time
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


class JsonLog(L.Callback):
    def __init__(self):
        self.t0 = time.time()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        n = trainer.global_step
        if n % 20 == 0:
            rec = {"epoch": trainer.current_epoch + 1, "update": round(n / 900, 3), "loss": f"{outputs['loss'].item():.3f}",
                   "ppl": f"{2 ** outputs['loss'].item():.2f}", "wps": "3510.4", "num_updates": str(n), "lr": "0.001",
                   "gnorm": "0.91", "train_wall": str(round(time.time() - self.t0))}
            print(time.strftime("%Y-%m-%d %H:%M:%S"), "| INFO | train_inner |", json.dumps(rec), file=sys.stderr, flush=True)


class Seq(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(200, 32)
        self.rnn = nn.GRU(32, 64, batch_first=True)
        self.out = nn.Linear(64, 200)

    def training_step(self, batch, i):
        (t,) = batch
        h, _ = self.rnn(self.emb(t[:, :-1]))
        time.sleep(0.1)
        return nn.functional.cross_entropy(self.out(h).flatten(0, 1), t[:, 1:].flatten())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(1, verbose=False)
t = (torch.randint(0, 200, (7200, 1)) + torch.arange(21)) % 200
trainer = L.Trainer(max_epochs=10, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
                    enable_checkpointing=False, enable_model_summary=False, callbacks=[JsonLog()])
trainer.fit(Seq(), DataLoader(TensorDataset(t), batch_size=8, shuffle=True))
torch.save(trainer.model.state_dict(), "bart_tiny.pt")
