import logging
import math
import os
import resource
import time

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(format="[%(asctime)s] %(levelname)-7s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
log = logging.getLogger("finetune")
T, D, H, VOCAB = 192, 64, 4, 200


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, D)
        self.qkv = nn.Linear(D, 3 * D)
        self.out = nn.Linear(D, D)
        self.head = nn.Linear(D, 2)

    def forward(self, ids):
        x = self.emb(ids)
        b = x.shape[0]
        q, k, v = self.qkv(x).view(b, T, 3, H, D // H).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2)
        scores = scores / math.sqrt(D // H)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, T, D)
        return self.head((x + self.out(y)).mean(1))


def make_data(n=1024):
    g = torch.Generator().manual_seed(2)
    y = torch.randint(0, 2, (n,), generator=g)
    ids = torch.randint(0, VOCAB, (n, T), generator=g)
    mark = torch.rand(n, T, generator=g) < 0.12          # positive texts use the words 0..9 more often
    ids[mark & (y[:, None] == 1)] %= 10
    return TensorDataset(ids, y)


def quota(extra_mb):
    """The box is shared: hold this process to its share of the memory."""
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + extra_mb * 2**20, now + extra_mb * 2**20))
    log.info("memory quota: %d MB for activations", extra_mb)


def main():
    torch.set_num_threads(1)
    set_seed(4)
    accelerator = Accelerator(cpu=True)
    smoke = Encoder()
    smoke(torch.zeros(2, T, dtype=torch.long)).sum().backward()
    log.info("smoke test of the model passed")
    data = make_data()
    quota(400)
    sizes = iter([512, 256, 128, 64, 32, 16, 8])

    @find_executable_batch_size(starting_batch_size=1024, reduce_batch_size_fn=lambda: next(sizes))
    def train(batch_size):
        accelerator.free_memory()
        log.info("trying batch size %d", batch_size)
        time.sleep(4)                                     # the packing of the texts for this size
        model = Encoder()
        opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
        model, opt, loader = accelerator.prepare(model, opt, DataLoader(data, batch_size=batch_size, shuffle=True))
        step = 0
        try:
            while step < 120:
                for ids, y in loader:
                    loss = nn.functional.cross_entropy(model(ids), y)
                    accelerator.backward(loss)
                    opt.step()
                    opt.zero_grad()
                    step += 1
                    time.sleep(0.15)
                    if step == 1:
                        log.info("batch size %d fits, training for 120 steps", batch_size)
                    if step % 5 == 0:
                        log.info("step %3d/120  loss %.4f", step, loss.item())
                    if step % 40 == 0:
                        accelerator.save_state(f"out/checkpoint-{step}")
                        log.info("saved out/checkpoint-%d", step)
                    if step >= 120:
                        break
        except RuntimeError as err:
            log.error("batch size %d failed: RuntimeError: %s", batch_size, str(err).splitlines()[0])
            raise

    train()
    log.info("done, model in out/checkpoint-120")


if __name__ == "__main__":
    main()
