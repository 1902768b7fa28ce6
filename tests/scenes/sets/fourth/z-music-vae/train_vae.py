"""Piano-roll VAE. Saves last.pt now and then; resumes from it when it is there."""
import logging, os, sys, time
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
log = logging.getLogger("vae")
RATE = 2_000_000        # bytes a second: the volume is shared, the others complained


class Gentle:
    """file that writes slowly enough for the shared volume"""

    def __init__(self, path):
        self.f = open(path, "wb", buffering=0)

    def write(self, data):
        view = memoryview(data).cast("B")
        for i in range(0, len(view), 200_000):
            piece = view[i:i + 200_000]
            self.f.write(piece)
            time.sleep(len(piece) / RATE)
        return len(view)

    def flush(self):
        os.fsync(self.f.fileno())


class VAE(nn.Module):
    def __init__(self, n=88 * 16, h=300, z=32):
        super().__init__()
        self.enc, self.stats = nn.Linear(n, h), nn.Linear(h, 2 * z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, n))

    def forward(self, x):
        mu, logvar = self.stats(torch.relu(self.enc(x))).chunk(2, -1)
        rec = self.dec(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
        bce = nn.functional.binary_cross_entropy_with_logits(rec, x, reduction="none").sum(-1).mean()
        kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(-1).mean()
        return bce, kl


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    if os.path.exists("last.pt"):
        log.info("resuming from last.pt")
        state = torch.load("last.pt")
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        step = state["step"]
        log.info("resumed at step %d", step)
    g = torch.Generator().manual_seed(9)
    while step < 400:
        x = (torch.rand(32, 88 * 16, generator=g) < 0.06).float()
        bce, kl = model(x)
        opt.zero_grad()
        (bce + min(1.0, step / 200) * kl).backward()
        opt.step()
        step += 1
        time.sleep(0.25)
        if step % 5 == 0:
            log.info("step %d  rec %.1f  kl %.2f", step, bce.item(), kl.item())
        if step % 40 == 0:
            log.info("saving last.pt (step %d)", step)
            out = Gentle("last.pt")
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, out)
            out.f.close()
            log.info("saved (%.1f MB)", os.path.getsize("last.pt") / 1e6)


if __name__ == "__main__":
    main()
