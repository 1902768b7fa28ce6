import os, time, warnings
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")
ALPHABET = 30


class Lines(Dataset):
    """line images, rendered when asked for"""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        y = torch.randint(0, ALPHABET, (8,), generator=g)
        x = torch.nn.functional.one_hot(y, ALPHABET).float().repeat_interleave(4, 0)
        time.sleep(0.04)
        return x + 0.3 * torch.randn(x.shape, generator=g), y


def register(worker_id):
    torch.set_num_threads(1)
    os.makedirs("run", exist_ok=True)
    with open(f"run/render-{worker_id}.pid", "w") as f:
        f.write(str(os.getpid()))


class Reader(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(ALPHABET, 64, batch_first=True)
        self.head = nn.Linear(64, ALPHABET)
        self.seen = []

    def training_step(self, batch, i):
        x, y = batch
        h = self.rnn(x)[0][:, 3::4]
        loss = nn.functional.cross_entropy(self.head(h).transpose(1, 2), y)
        self.log("train_loss", loss, prog_bar=True)
        self.seen.append(loss.item())
        time.sleep(0.1)
        return loss

    def on_train_epoch_end(self):
        print(f"\nepoch {self.current_epoch}: train_loss {sum(self.seen) / len(self.seen):.4f} over {len(self.seen)} batches",
              flush=True)
        self.seen.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


if __name__ == "__main__":
    L.seed_everything(7)
    torch.set_num_threads(1)
    dl = DataLoader(Lines(640), batch_size=8, num_workers=2, persistent_workers=True, shuffle=True,
                    worker_init_fn=register)
    trainer = L.Trainer(max_epochs=12, accelerator="cpu", devices=1, logger=False, enable_checkpointing=True,
                        default_root_dir="run", log_every_n_steps=10)
    trainer.fit(Reader(), dl)
    print("done")
