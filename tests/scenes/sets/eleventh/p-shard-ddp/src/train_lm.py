import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from corpus import VOCAB, Parts

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(process)d][%(levelname)s] %(message)s")
logger = get_logger(__name__)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--data-parts", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args()


class CharRNN(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(VOCAB, dim), nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, VOCAB)

    def forward(self, input_ids, labels):
        logits = self.out(self.rnn(self.emb(input_ids))[0])
        return nn.functional.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1))


@torch.no_grad()
def validate(acc, model):
    model.eval()
    losses = []
    for batch in DataLoader(Parts(acc.num_processes, acc.process_index, acc.num_processes, rows_per_part=40), batch_size=8):
        losses.append(model(**batch))
    model.train()
    return acc.gather(torch.stack(losses)).mean().item()


def main():
    a = parse()
    acc = Accelerator(cpu=True)
    set_seed(11)
    model = CharRNN()
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    model, opt = acc.prepare(model, opt)
    logger.info("world size %d, %d parts of data, lr %g", acc.num_processes, a.data_parts, a.lr)
    step = 0
    for epoch in range(a.epochs):
        loader = DataLoader(Parts(a.data_parts, acc.process_index, acc.num_processes), batch_size=a.batch_size)
        for batch in loader:
            time.sleep(0.18)
            loss = model(**batch)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            if step % 10 == 0:
                logger.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
        acc.wait_for_everyone()
        val = validate(acc, model)
        logger.info("epoch %d done, val_loss %.4f", epoch, val)
        if acc.is_main_process:
            torch.save(acc.unwrap_model(model).state_dict(), f"epoch{epoch}.pt")
    logger.info("finished")


main()
