"""Contrastive pairs (captions and pictures) with Accelerate; the batch is as large as the box allows."""
import logging
import time
import traceback

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size, set_seed

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)-8s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("pairs")
size = 65536


def smaller():
    global size
    log.warning("batch of %d does not fit, trying %d", size, size // 8)
    size //= 8
    return size


def main():
    set_seed(1)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)

    @find_executable_batch_size(starting_batch_size=size, reduce_batch_size_fn=smaller)
    def train(batch_size):
        acc.free_memory()
        log.info("building the model for batch_size=%d", batch_size)
        torch.manual_seed(1)
        text, image = torch.nn.Linear(48, 32), torch.nn.Linear(80, 32)
        model = torch.nn.ModuleDict({"text": text, "image": image})
        opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
        model, opt = acc.prepare(model, opt)
        for step in range(1, 151):
            t = torch.randn(batch_size, 48)
            v = torch.cat([t, 0.5 * torch.randn(batch_size, 32)], 1)
            try:
                d = model["text"](t)[:, None] - model["image"](v)[None]      # batch x batch x 32
            except RuntimeError:
                log.error("step %d failed\n%s", step, traceback.format_exc())
                raise
            logits = -(d ** 2).sum(-1)
            loss = torch.nn.functional.cross_entropy(logits, torch.arange(batch_size))
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.15)
            if step % 10 == 0:
                log.info("step %d/150 loss %.4f", step, loss.item())
        acc.save_model(model, "pairs-model")

    train()
    log.info("model in pairs-model, batch size used: %d", size)


if __name__ == "__main__":
    main()
