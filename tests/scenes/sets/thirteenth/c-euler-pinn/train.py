import argparse
import logging
import time

import torch
from euler.data import collocation, probe
from euler.net import Fields, residuals

log = logging.getLogger("euler")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1600)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--every", type=int, default=10)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s  %(message)s")
    torch.manual_seed(3)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(11)
    model = Fields()
    with torch.no_grad():
        model.body[-1].bias.copy_(torch.tensor([1.0, 0.0, 1.0]))
        model.body[-1].weight.mul_(0.1)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    log.info("fields: %d parameters, curriculum in time, %d steps", sum(p.numel() for p in model.parameters()), args.steps)
    t0 = time.time()
    for step in range(1, args.steps + 1):
        t_max = 0.1 + 0.9 * min(1.0, step / 600)
        xt, rho = probe(256, t_max, gen)
        data = ((model(xt)[0] - rho) ** 2).mean()
        mass, entropy = residuals(model, collocation(512, t_max, gen))
        loss = 20 * data + 0.05 * (mass**2).mean() + 0.002 * (entropy**2).mean()
        opt.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        time.sleep(0.04)
        if step % args.every == 0:
            log.info(
                "step %d/%d  t_max %.3f  loss %.5f  data %.6f  mass %.5f  entropy %.5f  |g| %.3f  %.2f it/s",
                step, args.steps, t_max, loss.item(), data.item(), (mass**2).mean().item(),
                (entropy**2).mean().item(), norm.item(), step / (time.time() - t0),
            )
        if step % 200 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, f"fields-{step:05d}.pt")
            log.info("saved fields-%05d.pt", step)
    log.info("finished after %.0f s", time.time() - t0)


if __name__ == "__main__":
    main()
