"""Euler-Bernoulli beam, PINN: Adam first, then L-BFGS until it converges."""
import time

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

torch.manual_seed(5)
torch.set_num_threads(1)
con = Console(width=100)


def derivatives(net, x, n):
    out, u = [], net(x)
    for _ in range(n):
        u = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        out.append(u)
    return out


def loss_fn(net, x):
    u4 = derivatives(net, x, 4)[3]
    ends = torch.tensor([[0.0], [1.0]], requires_grad=True)
    w = net(ends)
    _, w2 = derivatives(net, ends, 2)
    return (u4 - 1.0).square().mean() + 50 * w.square().mean() + 5 * w2.square().mean()


def main():
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)).double()
    torch.set_default_dtype(torch.float64)
    x = torch.linspace(0, 1, 48).reshape(-1, 1).requires_grad_(True)
    con.rule("phase 1: Adam")
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for it in range(1, 401):
        opt.zero_grad()
        loss = loss_fn(net, x)
        loss.backward()
        opt.step()
        time.sleep(0.03)
        if it % 40 == 0:
            con.print(f"adam {it:4d}  loss {loss.item():.3e}")
    torch.save(net.state_dict(), "adam.pt")
    con.rule("phase 2: L-BFGS")
    opt = torch.optim.LBFGS(net.parameters(), max_iter=150, history_size=30, line_search_fn="strong_wolfe",
                            tolerance_change=1e-10)
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        opt.zero_grad()
        value = loss_fn(net, x)
        value.backward()
        time.sleep(0.1)
        return value

    for outer in range(1, 5):
        value = opt.step(closure)
        con.print(f"lbfgs {outer}  loss before {value.item():.3e}  closure calls {calls}")
        if opt.state_dict()["state"][0]["n_iter"] < 150 * outer:
            con.print("converged")
            break
    torch.save(net.state_dict(), "lbfgs.pt")
    table = Table("x", "w", "exact")
    for v in (0.25, 0.5, 0.75):
        exact = (v**4 - 2 * v**3 + v) / 24
        table.add_row(f"{v}", f"{net(torch.tensor([[v]])).item():.5f}", f"{exact:.5f}")
    con.print(table)


if __name__ == "__main__":
    main()
