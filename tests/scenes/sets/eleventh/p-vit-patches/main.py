import os
import sys
import time
from datetime import datetime
from pathlib import Path

import torch
from torch.optim.lr_scheduler import OneCycleLR
from transformers import ViTConfig, ViTForImageClassification

STEPS, SAVE_EVERY, BATCH = 520, 30, 16
CKPT = Path("scratch/ckpt")


def say(level, text):
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f} | {level:<8} | __main__:{sys._getframe(1).f_code.co_name}:{sys._getframe(1).f_lineno} - {text}",
          flush=True)


def images(gen):
    """16x16 pictures of bars: the class is the direction and the colour of the bar."""
    y = torch.randint(8, (BATCH,), generator=gen)
    x = 0.3 * torch.randn(BATCH, 3, 16, 16, generator=gen)
    for i, c in enumerate(y.tolist()):
        pos = int(torch.randint(14, (1,), generator=gen))
        if c % 2:
            x[i, c // 2 % 3, pos:pos + 2, :] += 1.5
        else:
            x[i, c // 2 % 3, :, pos:pos + 2] += 1.5
        x[i] *= -1.0 if c >= 6 else 1.0
    return x, y


class Checkpoints:
    def __init__(self, folder, keep=2):
        self.folder, self.keep = folder, keep
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, step, model, opt):
        path = self.folder / f"step_{step:06d}.pt"
        tmp = path.with_suffix(".tmp")
        try:
            with open(tmp, "wb") as f:
                torch.save({"step": step, "model": model.state_dict(), "opt": opt.state_dict()}, f)
                f.flush()
                os.fsync(f.fileno())
            os.replace(tmp, path)
        except Exception as e:  # never let a save take the training down
            tmp.unlink(missing_ok=True)
            say("WARNING", f"checkpoint {path.name} could not be written: {e}; going on")
            return
        say("INFO", f"checkpoint {path} ({path.stat().st_size / 2**20:.1f} MiB)")
        for old in sorted(self.folder.glob("step_*.pt"))[:-self.keep]:
            old.unlink()


def main():
    torch.manual_seed(3)
    model = ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, hidden_size=96, num_hidden_layers=3,
                                                num_attention_heads=4, intermediate_size=192, num_labels=8))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = OneCycleLR(opt, max_lr=1.5e-3, total_steps=STEPS)
    ckpt, gen, hits, t0 = Checkpoints(CKPT), torch.Generator().manual_seed(9), 0, time.time()
    say("INFO", f"ViT with {sum(p.numel() for p in model.parameters()) / 1e3:.0f}k parameters, {STEPS} steps")
    for step in range(1, STEPS + 1):
        x, y = images(gen)
        out = model(pixel_values=x, labels=y)
        out.loss.backward()
        opt.step()
        sched.step()
        opt.zero_grad()
        hits += int((out.logits.argmax(-1) == y).sum())
        time.sleep(0.11)
        if step % 10 == 0:
            say("INFO", f"step {step} loss {out.loss.item():.4f} acc {hits / BATCH / 10:.3f} {step / (time.time() - t0):.2f} it/s")
            hits = 0
        if step % SAVE_EVERY == 0:
            ckpt.write(step, model, opt)
    say("SUCCESS", "training finished")


main()
