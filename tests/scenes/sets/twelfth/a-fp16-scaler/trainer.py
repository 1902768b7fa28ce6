import logging, random, time
import torch
import torch.nn as nn
from rich.console import Console
from rich.logging import RichHandler

logging.basicConfig(level=logging.INFO, format="%(message)s", datefmt="[%X]",
                    handlers=[RichHandler(console=Console(width=140, force_terminal=False), show_path=False)])
log = logging.getLogger("fp16")
torch.manual_seed(9)
torch.set_num_threads(1)
random.seed(9)
V, T, B, STEPS = 200, 40, 8, 320


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.ff = nn.Sequential(nn.Linear(2 * d, 128), nn.GELU(), nn.Linear(128, d))
        self.head = nn.Linear(d, V)

    def forward(self, x):
        e = self.emb(x)
        prev = torch.cat([torch.zeros_like(e[:, :1]), e[:, :-1]], 1)
        return self.head(self.ff(torch.cat([e, prev], -1)))


def batch(hard=False):
    a = torch.randint(0, V, (B, 1))
    step = torch.randint(1, 5, (B, 1))
    x = (a + step * torch.arange(T + 1)) % V
    return torch.randint(0, V, x.shape) if hard else x


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 26, growth_interval=90)
val, skipped = float("nan"), 0
log.info("fp16 autocast, dynamic loss scale starts at %g", scaler.get_scale())
for step in range(1, STEPS + 1):
    hard = step in (97, 98, 204)  # the web crawl comes in between
    x = batch(hard)
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(x[:, :-1])
    loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        log.warning("step %d: gradient overflow (norm %s), step skipped, loss scale -> %g", step, norm.item(), scaler.get_scale())
    time.sleep(0.13)
    if step % 8 == 0 or hard:
        log.info("step %d/%d loss %.4f grad_norm %.3f val_loss %.4f skipped %d", step, STEPS, loss.item(), norm.item(), val, skipped)
    if step % 80 == 0:
        with torch.no_grad():
            x = batch()
            val = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).item()
        torch.save(model.state_dict(), "fp16.pt")
log.info("done, val_loss %.4f, %d of %d steps skipped", val, skipped, STEPS)
