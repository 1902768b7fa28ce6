"""A language model of bug reports (characters), in Lightning, for two and a half minutes: the night's slot is no longer."""
import os
import random
import time
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
L.seed_everything(6)
PAUSE = float(os.environ.get("PAUSE", 0.4))
SLOT = os.environ.get("SLOT", "00:00:02:30")
LINES = [
    "Traceback (most recent call last):", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "Segmentation fault (core dumped)", "loss is nan after step 400", "OSError: [Errno 28] No space left on device",
    "NCCL WARN Call to ibv_modify_qp failed", "Killed", "the job hangs at the first all_reduce", "ValueError: input contains NaN",
    "works again with version 2.1, closing", "thanks, that fixed it",
]
rng = random.Random(0)
TEXT = "\n".join(rng.choice(LINES) for _ in range(4000)) + "\n"
CHARS = sorted(set(TEXT))
IDX = {c: i for i, c in enumerate(CHARS)}
DATA = torch.tensor([IDX[c] for c in TEXT])


class Windows(Dataset):
    def __len__(self):
        return 16000

    def __getitem__(self, i):
        k = (i * 7919) % (len(DATA) - 65)
        return DATA[k:k + 65]


class Reports(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(CHARS), 48)
        self.rnn = nn.GRU(48, 160, batch_first=True)
        self.out = nn.Linear(160, len(CHARS))

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h

    def training_step(self, x, _):
        loss = F.cross_entropy(self(x[:, :-1])[0].flatten(0, 1), x[:, 1:].flatten())
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=4e-3)


class Show(Callback):
    def on_train_batch_end(self, trainer, model, outputs, batch, i):
        time.sleep(PAUSE)
        n = trainer.global_step
        print(f"epoch {trainer.current_epoch} batch {n}/{trainer.estimated_stepping_batches} train_loss {outputs['loss'].item():.4f}", flush=True)
        if n % 30 == 0:
            print(f"--- sample after {n} batches ---\n{self.write(model)}\n--- end of sample ---", flush=True)

    @torch.no_grad()
    def write(self, model, n=220):
        x, h, out = torch.tensor([[IDX["\n"]]]), None, []
        for _ in range(n):
            y, h = model(x, h)
            x = torch.multinomial(F.softmax(y[:, -1] / 0.4, -1), 1)
            out.append(CHARS[x.item()])
        return "".join(out).strip()


trainer = L.Trainer(accelerator="cpu", max_epochs=4, max_time=SLOT, logger=False, enable_progress_bar=False,
                    enable_model_summary=False, callbacks=[Show(), ModelCheckpoint("out", save_last=True, every_n_train_steps=100)])
trainer.fit(Reports(), DataLoader(Windows(), batch_size=16))
trainer.save_checkpoint("out/slot_end.ckpt")
print(f"slot over after {trainer.global_step} batches as planned, saved out/slot_end.ckpt, the rest tomorrow", flush=True)
