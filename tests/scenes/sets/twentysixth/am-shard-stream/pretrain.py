import logging
import sys
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

import stream
from stream import CTX, VOCAB, ShardStream

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s")
log = logging.getLogger("pretrain")
torch.set_num_threads(1)
L.seed_everything(2)
stream.write_manifest()
ds = ShardStream()


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(VOCAB, 128), nn.GRU(128, 256, batch_first=True), nn.Linear(256, VOCAB)

    def loss(self, b):
        h, _ = self.rnn(self.emb(b[0]))
        return F.cross_entropy(self.out(h).flatten(0, 1), b[1].flatten())

    def training_step(self, b, i):
        l = self.loss(b)
        time.sleep(0.2)
        self.log("train_loss", l)
        if (self.global_step + 1) % 10 == 0:
            log.info("step %4d shard %s train_loss %.3f", self.global_step + 1, ds.rows[ds.current]["name"], l.item())
        return l

    def validation_step(self, b, i):
        self.log("val_loss", self.loss(b))

    def on_validation_epoch_end(self):
        v = self.trainer.callback_metrics.get("val_loss")
        if v is not None and not self.trainer.sanity_checking:
            log.info("step %4d val_loss %.3f val_ppl %.1f", self.global_step, v, v.exp())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=4e-3)


v = torch.tensor(stream.source(999, 60 * (CTX + 1))).view(60, CTX + 1)
trainer = L.Trainer(max_steps=620, accelerator="cpu", logger=CSVLogger("logs", flush_logs_every_n_steps=10), log_every_n_steps=5,
                    val_check_interval=30, enable_progress_bar=False, enable_model_summary=False,
                    callbacks=[ModelCheckpoint("ckpt", every_n_train_steps=60, save_top_k=-1)])
trainer.fit(Net(), DataLoader(ds, batch_size=None), DataLoader(TensorDataset(v[:, :-1], v[:, 1:]), batch_size=20))
