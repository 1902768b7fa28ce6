import time
import warnings

import torch
from lightning.fabric import Fabric
from pairs import Pairs, TwoTower

warnings.filterwarnings("ignore")
EPOCHS, BATCH, TRIM_PER_EPOCH = 8, 16, 3


def caption_dropout(length, epoch):
    """Shorten the captions a little more in every epoch."""
    return length - TRIM_PER_EPOCH * epoch


def run(fabric):
    fabric.seed_everything(1, verbose=False)
    model = TwoTower()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt = fabric.setup(model, opt)
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(Pairs(1280, 3), batch_size=BATCH, shuffle=True))
    fabric.print(f"{fabric.world_size} ranks, {len(loader)} steps per epoch")
    for epoch in range(EPOCHS):
        loader.sampler.set_epoch(epoch)
        for i, (img, txt, length) in enumerate(loader, 1):
            time.sleep(0.22)
            keep = caption_dropout(length, epoch) >= 2
            if keep.sum() < 6:
                continue
            a, b = model(img[keep], txt[keep])
            logits = a @ b.T / 0.1
            loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(logits)))
            opt.zero_grad()
            fabric.backward(loss)
            opt.step()
            if i % 4 == 0:
                fabric.print(f"epoch={epoch} step={i}/{len(loader)} pairs={int(keep.sum())} contrastive={loss.item():.4f}", flush=True)
        total = fabric.all_reduce(torch.tensor([float(len(img)), 0.0, 0.0]), reduce_op="sum")
        fabric.print(f"epoch={epoch} done, last batches held {int(total[0])} pairs", flush=True)
        fabric.barrier()
    fabric.save("two_tower.ckpt", {"model": model})


if __name__ == "__main__":
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp_fork")
    fabric.launch(run)
