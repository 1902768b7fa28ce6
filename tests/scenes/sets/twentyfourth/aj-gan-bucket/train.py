"""GAN on a ring of eight Gaussians with ignite; goes on from latest.pt where there is one."""
import io
import math
import os
import time
from pathlib import Path

import torch
from ignite.engine import Engine, Events
from torch import nn

BUCKET = Path("bucket")  # mounted storage of the provider
TOTAL = 900


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


def real(n):
    k = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) + 0.05 * torch.randn(n, 2)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    BUCKET.mkdir(exist_ok=True)
    Path("pid").write_text(str(os.getpid()))
    gen, dis = mlp(8, 2), mlp(2, 1)
    og = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(dis.parameters(), lr=1e-3, betas=(0.5, 0.9))
    bce = nn.functional.binary_cross_entropy_with_logits
    done = 0
    latest = BUCKET / "latest.pt"
    if latest.exists():
        print(f"reprise depuis {latest} ({latest.stat().st_size} octets)")
        state = torch.load(latest, map_location="cpu")
        gen.load_state_dict(state["gen"])
        dis.load_state_dict(state["dis"])
        og.load_state_dict(state["og"])
        od.load_state_dict(state["od"])
        done = state["iteration"]
        print(f"on continue à l'itération {done}")

    def step(engine, _):
        x = real(128)
        fake = gen(torch.randn(128, 8))
        ld = bce(dis(x), torch.ones(128, 1)) + bce(dis(fake.detach()), torch.zeros(128, 1))
        od.zero_grad()
        ld.backward()
        od.step()
        lg = bce(dis(fake), torch.ones(128, 1))
        og.zero_grad()
        lg.backward()
        og.step()
        time.sleep(0.3)
        return ld.item(), lg.item()

    trainer = Engine(step)

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def report(engine):
        ld, lg = engine.state.output
        print(f"itération {done + engine.state.iteration}/{TOTAL} perte_D {ld:.4f} perte_G {lg:.4f}")

    @trainer.on(Events.ITERATION_COMPLETED(every=40))
    def save(engine):
        it = done + engine.state.iteration
        print(f"sauvegarde à l'itération {it} ...")
        buf = io.BytesIO()
        torch.save({"gen": gen.state_dict(), "dis": dis.state_dict(), "og": og.state_dict(), "od": od.state_dict(), "iteration": it}, buf)
        data = buf.getvalue()
        with open(latest, "wb", buffering=0) as f:
            for i in range(0, len(data), 8192):
                f.write(data[i : i + 8192])
                time.sleep(0.25)  # the bucket throttles bursts
        print(f"sauvegardé: {latest}, {len(data)} octets")

    trainer.run([0] * (TOTAL - done), max_epochs=1)


if __name__ == "__main__":
    main()
