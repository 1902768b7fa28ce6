import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn

V = 200


class Captioner(L.LightningModule):
    def __init__(self, d=128):
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(3, 32, 8, 8), nn.GELU(), nn.Flatten(2))
        self.proj = nn.Linear(32, d)
        self.emb = nn.Embedding(V, d)
        layer = nn.TransformerDecoderLayer(d, 4, 2 * d, batch_first=True, dropout=0.0)
        self.dec = nn.TransformerDecoder(layer, 1)
        self.head = nn.Linear(d, V)

    def training_step(self, batch, _):
        image, words = batch
        memory = self.proj(self.see(image).transpose(1, 2))
        n = words.shape[1] - 1
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        h = self.dec(self.emb(words[:, :-1]), memory, tgt_mask=mask, tgt_is_causal=True)
        loss = nn.functional.cross_entropy(self.head(h).flatten(0, 1), words[:, 1:].flatten())
        self.log("loss", loss)
        time.sleep(0.2)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(5)
        while True:
            kind = int(torch.randint(0, 40, (1,), generator=g))
            image = torch.full((3, 32, 32), kind / 40) + 0.05 * torch.randn(3, 32, 32, generator=g)
            yield image, (torch.arange(10) * 3 + kind * 4) % V


class Lines(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        step = trainer.global_step
        if step % 10 == 0:
            print(f"{time.strftime('%H:%M:%S')} | global_step {step} | train/loss {outputs['loss'].item():.4f}", flush=True)


L.seed_everything(1, verbose=False)
torch.set_num_threads(1)
keep = ModelCheckpoint("ckpt", filename="cap-{step:05d}", every_n_train_steps=40, save_top_k=1, monitor="step", mode="max")
trainer = L.Trainer(accelerator="cpu", max_steps=3000, logger=False, enable_progress_bar=False, callbacks=[keep, Lines()])
trainer.fit(Captioner(), torch.utils.data.DataLoader(Stream(), batch_size=8))
