import sys, time
import torch
import torch.nn as nn
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from .data import corpus, sample


class LM(nn.Module):
    def __init__(self, d=64, seq=48):
        super().__init__()
        self.emb, self.pos = nn.Embedding(128, d), nn.Parameter(torch.zeros(seq, d))
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(d, 128)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(seq))

    def forward(self, x):
        return self.head(self.body(self.emb(x) + self.pos, mask=self.mask, is_causal=True))


def main(path):
    cfg = yaml.safe_load(open(path))
    set_seed(cfg["seed"])
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    o, t = cfg["optim"], cfg["train"]
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=o["max_lr"], weight_decay=o["weight_decay"])
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, ((s + 1) / o["warmup"]) ** 3))
    model, opt, sched = acc.prepare(model, opt, sched)
    data, gen = corpus(cfg["seed"]), torch.Generator().manual_seed(1)
    acc.print(f"{cfg['run']}: {sum(p.numel() for p in model.parameters())} parameters")
    for step in range(1, t["steps"] + 1):
        x = sample(data, t["batch"], 48, gen)
        loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        acc.backward(loss)
        opt.step()
        sched.step()
        opt.zero_grad()
        time.sleep(0.15)
        if step % t["log_every"] == 0:
            acc.print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} INFO lm.train step={step} loss={loss.item():.4f} lr={sched.get_last_lr()[0]:.3e}", flush=True)
    acc.save_model(model, "out")


if __name__ == "__main__":
    main(sys.argv[1])
