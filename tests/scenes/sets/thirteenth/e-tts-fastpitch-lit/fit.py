import time, yaml, logging, warnings
import torch, torch.nn as nn
import lightning as L
from lightning.pytorch.callbacks import Callback

warnings.filterwarnings("ignore", ".*does not have many workers.*")
cfg = yaml.safe_load(open("conf.yaml"))
torch.manual_seed(11)


class Phrases(torch.utils.data.IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(5)
        table = torch.randn(60, cfg["model"]["mel"], generator=torch.Generator().manual_seed(9))
        while True:
            ph = torch.randint(0, 60, (24,), generator=g)
            yield ph, table[ph] + 0.1 * torch.randn(24, cfg["model"]["mel"], generator=g)


class FastPitch(L.LightningModule):
    def __init__(self):
        super().__init__()
        h = cfg["model"]["hidden"]
        self.emb = nn.Embedding(60, h)
        self.net = nn.Sequential(nn.Linear(h, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, cfg["model"]["mel"]))

    def training_step(self, batch, _):
        ph, mel = batch
        time.sleep(0.1)
        loss = (self.net(self.emb(ph)) - mel).abs().mean()
        self.log("mel_l1", loss)
        return loss

    def configure_optimizers(self):
        o = cfg["optim"]
        opt = torch.optim.SGD(self.parameters(), lr=o["lr"], momentum=o["momentum"])
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.02 * (1.035 ** s))
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


class Lines(Callback):
    def on_train_batch_end(self, trainer, pl, outputs, batch, idx):
        if trainer.global_step % cfg["trainer"]["log_every"] == 0:
            lr = trainer.optimizers[0].param_groups[0]["lr"]
            print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} | global_step={trainer.global_step:04d} | train/mel_l1={outputs['loss'].item():.5f} | lr={lr:.3e}", flush=True)


trainer = L.Trainer(max_steps=cfg["trainer"]["max_steps"], accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=True, callbacks=[Lines()])
trainer.fit(FastPitch(), torch.utils.data.DataLoader(Phrases(), batch_size=8))
