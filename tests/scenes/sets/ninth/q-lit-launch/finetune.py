import os
import platform
import sys
import warnings

warnings.filterwarnings("ignore")
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def read_config(path):
    conf = {}
    for line in open(path):
        line = line.split("#")[0].strip()
        if line:
            key, value = (p.strip() for p in line.split(":", 1))
            conf[key] = int(value) if value.isdigit() else value
    return conf


class Tagger(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.emb = nn.EmbeddingBag(500, 32)
        self.out = nn.Linear(32, 9)

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.out(self.emb(x)), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    conf = read_config(sys.argv[1])
    print(f"host {platform.node()} python {platform.python_version()} torch {torch.__version__} lightning {L.__version__} pid {os.getpid()}", flush=True)
    print("config:", ", ".join(f"{k}={v}" for k, v in conf.items()), flush=True)
    L.seed_everything(conf["seed"])
    g = torch.Generator().manual_seed(1)
    x = torch.randint(0, 500, (4000, 12), generator=g)
    data = TensorDataset(x, x[:, 0] % 9)
    print(f"data: {len(data)} sentences", flush=True)
    trainer = L.Trainer(accelerator=conf["accelerator"], devices=conf["devices"], precision=conf["precision"],
                        max_epochs=conf["epochs"], log_every_n_steps=10, logger=False)
    trainer.fit(Tagger(float(conf["lr"])), DataLoader(data, batch_size=conf["batch"], shuffle=True))


if __name__ == "__main__":
    main()
