import logging
import time
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("volumes")


class Seg(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 1, 3, padding=1))

    def training_step(self, batch, i):
        x, y = batch
        time.sleep(0.25)
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(x), y)
        if self.global_step % 5 == 0:
            log.info("step %d loss %.4f", self.global_step, loss.item())
        return loss

    def on_validation_start(self):
        self.dice = []

    def validation_step(self, batch, i):
        # sliding windows over a whole volume
        x, y = batch
        time.sleep(2.1)
        p = (self.net(x) > 0).float()
        self.dice.append(float(2 * (p * y).sum() / (p.sum() + y.sum() + 1)))

    def on_validation_end(self):
        if not self.trainer.sanity_checking:
            log.info("validation: dice %.4f over %d volumes", sum(self.dice) / len(self.dice), len(self.dice))

    def on_save_checkpoint(self, checkpoint):
        t = time.time()
        blob = b"".join(p.detach().numpy().tobytes() for p in self.parameters())
        with open("mirror.bin", "wb") as store:  # a slow link: a quarter of a kB per second
            for at in range(0, len(blob), 256):
                store.write(blob[at:at + 256])
                store.flush()
                time.sleep(1.0)
        log.info("checkpoint mirrored in %.1f s", time.time() - t)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def volumes(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.zeros(n, 1, 8, 12, 12)
    for v in y:
        a = torch.randint(0, 6, (3,), generator=g)
        v[0, a[0] // 3:a[0] // 3 + 4, a[1]:a[1] + 5, a[2]:a[2] + 5] = 1
    return TensorDataset(y + 0.6 * torch.randn(y.shape, generator=g), y)


if __name__ == "__main__":
    torch.set_num_threads(1)
    L.seed_everything(0, verbose=False)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
                        callbacks=[L.pytorch.callbacks.ModelCheckpoint("ckpt", save_top_k=-1)])
    trainer.fit(Seg(), DataLoader(volumes(180, 0), 4, shuffle=True), DataLoader(volumes(14, 1), 1))
    log.info("all done")
