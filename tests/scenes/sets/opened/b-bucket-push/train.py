import http.client
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 4))

    def training_step(self, batch, _):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        time.sleep(0.2)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=5e-4)


def upload(path):
    size = os.path.getsize(path)
    c = http.client.HTTPConnection("127.0.0.1", int(open("bucket.port").read()), timeout=120)
    with open(path, "rb") as f:
        c.request("PUT", "/" + os.path.basename(path), body=f, headers={"Content-Length": str(size)})
        status = c.getresponse().status
    c.close()
    return size, status


if __name__ == "__main__":
    L.seed_everything(2, verbose=False)
    x = torch.randn(480, 64)
    y = x[:, :4].argmax(1)
    keep = ModelCheckpoint(dirpath="ckpt", filename="epoch{epoch}", auto_insert_metric_name=False, save_top_k=-1)
    trainer = L.Trainer(max_epochs=4, accelerator="cpu", devices=1, logger=False, enable_model_summary=False,
                        callbacks=[keep, TQDMProgressBar(refresh_rate=5)])
    trainer.fit(Net(), DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
    print("\nuploading checkpoints to the bucket", flush=True)
    t0 = time.time()
    for name in sorted(os.listdir("ckpt")):
        size, status = upload(os.path.join("ckpt", name))
        assert status == 200, status
    print(f"upload complete after {time.time() - t0:.0f} s", flush=True)
