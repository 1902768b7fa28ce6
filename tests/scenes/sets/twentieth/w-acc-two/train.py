import logging
import os
import time

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger("forecast")


def series(n, seed):
    g = torch.Generator().manual_seed(seed)
    phase, freq = torch.rand(n, 1, generator=g) * 6.28, 0.2 + torch.rand(n, 1, generator=g)
    t = torch.arange(32).float()
    wave = torch.sin(freq * t + phase) + 0.05 * torch.randn(n, 32, generator=g)
    return TensorDataset(wave[:, :28].unsqueeze(-1), wave[:, 28:])


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def main():
    torch.set_num_threads(1)
    set_seed(1234)
    acc = Accelerator(cpu=True)
    model = Forecaster()
    optim = torch.optim.Adam(model.parameters(), lr=4e-3)
    train, test = DataLoader(series(1600, 1), 16, shuffle=True), DataLoader(series(160, 2), 32)
    model, optim, train, test = acc.prepare(model, optim, train, test)
    logger.info("***** Running training *****")
    logger.info(f"  processes = {acc.num_processes}, batches per process = {len(train)}")
    step = 0
    for epoch in range(4):
        model.train()
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            acc.backward(loss)
            optim.step()
            optim.zero_grad()
            step += 1
            time.sleep(0.14)
            if step % 10 == 0:
                logger.info(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        model.eval()
        errors = []
        for x, y in test:
            with torch.no_grad():
                errors.append(acc.gather_for_metrics((model(x) - y).pow(2).mean(1)))
        logger.info(f"epoch {epoch} test mse {torch.cat(errors).mean().item():.5f}")
        acc.wait_for_everyone()
        acc.save_state(os.path.join("ckpts", f"epoch_{epoch}"))
    logger.info("Training complete")
    acc.end_training()


main()
