"""Pairwise reward model with an exponential margin loss. Odd pairs overflow; such steps are left out."""
import math, time
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def pairs(g, step):
    good, bad = torch.randn(32, 64, generator=g) + 0.25, torch.randn(32, 64, generator=g) - 0.25
    if step % 37 == 0:                       # a pair of very long answers: features are sums over tokens
        bad[0] *= 4000
    return good, bad


def main():
    set_seed(6)
    acc = Accelerator(cpu=True, project_dir="rm")
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.SiLU(), torch.nn.Linear(64, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 60)
    model, opt, sched = acc.prepare(model, opt, sched)
    g = torch.Generator().manual_seed(6)
    skipped = 0
    for step in range(1, 241):
        good, bad = pairs(g, step)
        margin = (model(good) - model(bad)).squeeze(1)
        loss = torch.exp(-margin).mean() + 0.01 * margin.pow(2).mean()
        acc.backward(loss)
        norm = float(acc.clip_grad_norm_(model.parameters(), 1.0))
        if math.isfinite(norm) and math.isfinite(loss.item()) and norm < 1e4:
            opt.step()
        else:
            skipped += 1
            acc.print(f"WARNING step {step}: loss {loss.item():.4g}, gradient norm {norm:.4g} - step skipped ({skipped} so far)",
                      flush=True)
        opt.zero_grad()
        sched.step()
        time.sleep(0.25)
        if step % 10 == 0:
            acc.print(f"step {step} loss {loss.item():.4f} norm {norm:.3f} lr {sched.get_last_lr()[0]:.2e}", flush=True)
        if step % 120 == 0:
            acc.print(f"saving state at step {step}", flush=True)
            acc.save_state(f"rm/step_{step}")
    with torch.no_grad():
        good, bad = pairs(g, 1)
        acc.print(f"finished: accuracy {(model(good) > model(bad)).float().mean().item():.3f}, {skipped} of 240 steps skipped")


if __name__ == "__main__":
    main()
