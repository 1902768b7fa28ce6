"""Steady heat in a disc with a source, radial PINN (r, k) -> u, residual-based refinement."""
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
log = logging.getLogger("pinn.disc")
torch.manual_seed(11)
torch.set_num_threads(1)

STEPS, EVERY, REFINE = 4000, 20, 440


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                  nn.Linear(width, 1))

    def forward(self, r, k):
        return self.body(torch.cat([r, k], 1))


def residual(net, r, k):
    r = r.clone().requires_grad_(True)
    u = net(r, k)
    u_r = torch.autograd.grad(u.sum(), r, create_graph=True)[0]
    u_rr = torch.autograd.grad(u_r.sum(), r, create_graph=True)[0]
    return k * (u_rr + u_r / r) + torch.exp(-4 * r**2)


def sample(n):
    return torch.rand(n, 1) * 0.98 + 0.02, torch.rand(n, 1) * 0.5 + 0.5


def refine(net, r, k, n=48):
    """Add the grid points with the largest residual (RAR)."""
    gr, gk = torch.meshgrid(torch.linspace(0, 1, 41), torch.linspace(0.5, 1, 11), indexing="ij")
    gr, gk = gr.reshape(-1, 1), gk.reshape(-1, 1)
    worst = residual(net, gr, gk).detach().abs().flatten().topk(n).indices
    return torch.cat([r, gr[worst]]), torch.cat([k, gk[worst]])


def main():
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    r, k = sample(384)
    log.info("parameters: %d, collocation points: %d", sum(p.numel() for p in net.parameters()), len(r))
    began = time.time()
    for step in range(1, STEPS + 1):
        if step == REFINE:
            r, k = refine(net, r, k)
            log.info("RAR: %d collocation points", len(r))
        pde = residual(net, r, k).square().mean()
        kb = torch.rand(64, 1) * 0.5 + 0.5
        bc = net(torch.ones(64, 1), kb).square().mean()
        loss = pde + 10 * bc
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.06)
        if step % EVERY == 0:
            log.info("step %d loss %.4e pde %.4e bc %.4e (%.1f it/s)", step, loss.item(), pde.item(),
                     bc.item(), step / (time.time() - began))
        if step % 400 == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f"disc_{step:05d}.pt")
    log.info("finished after %.0f s", time.time() - began)


if __name__ == "__main__":
    main()
