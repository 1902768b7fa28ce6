import logging
import time
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from data import ClipDataset, collate

warnings.filterwarnings("ignore")
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(name)s | %(message)s")
log = logging.getLogger("clipseg")


class ClipNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.AdaptiveAvgPool3d((4, 8, 8)), nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 2))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x.unsqueeze(1)), y)
        time.sleep(0.12)
        if self.global_step % 10 == 0:
            log.info("epoch=%d step=%d loss=%.4f frames=%d", self.current_epoch, self.global_step, loss.item(), x.shape[1])
        return loss

    def on_train_epoch_end(self):
        log.info("epoch %d done", self.current_epoch)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


if __name__ == "__main__":
    L.seed_everything(11)
    torch.set_num_threads(1)
    loader = DataLoader(ClipDataset(1600), batch_size=8, num_workers=2, collate_fn=collate, prefetch_factor=4)
    trainer = L.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False,
                        default_root_dir="ckpts", enable_model_summary=True)
    trainer.fit(ClipNet(), loader)
    log.info("finished at step %d", trainer.global_step)
