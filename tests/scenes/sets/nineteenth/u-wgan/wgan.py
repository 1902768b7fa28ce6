import time, torch
from torch import nn
from torch.autograd import grad
torch.set_num_threads(1); torch.manual_seed(1)
mlp = lambda i, o: nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(.2), nn.Linear(64, 64), nn.LeakyReLU(.2), nn.Linear(64, o))
G, C = mlp(8, 2), mlp(2, 1)
og, oc = (torch.optim.Adam(m.parameters(), 2e-3, betas=(.5, .9)) for m in (G, C))
def real(n):
    a = torch.rand(n) * 6.283; return torch.stack([12 * a.cos(), 12 * a.sin()], 1) + .2 * torch.randn(n, 2)
print(f"{'iter':>6} {'critic':>10} {'gen':>10} {'gp':>8} {'radius':>8}")
for it in range(1, 281):
    for _ in range(3):
        x, f = real(64), G(torch.randn(64, 8)).detach(); e = torch.rand(64, 1); h = (e * x + (1 - e) * f).requires_grad_()
        gp = ((grad(C(h).sum(), h, create_graph=True)[0].norm(2, 1) - 1) ** 2).mean()
        lc = C(f).mean() - C(x).mean() + 10 * gp; oc.zero_grad(); lc.backward(); oc.step()
    f = G(torch.randn(64, 8)); lg = -C(f).mean(); og.zero_grad(); lg.backward(); og.step(); time.sleep(.1)
    if it % 7 == 0: print(f"{it:6d} {lc.item():10.4f} {lg.item():10.4f} {gp.item():8.4f} {f.norm(dim=1).mean().item():8.3f}")
    if it % 70 == 0: torch.save({"G": G.state_dict(), "C": C.state_dict(), "it": it}, "wgan_last.pt"); print(f"# checkpoint at {it}")
print("# done")
