"""Load forecast: small MLP, one-cycle learning rate, resumes from last.pt."""
import os
import time

import torch

EPOCHS, BATCHES = 5, 40
ONECYCLE_EPOCHS = 3            # as in the first trial


def main():
    torch.manual_seed(14)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(28, 48), torch.nn.SiLU(), torch.nn.Linear(48, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=5e-3, total_steps=ONECYCLE_EPOCHS * BATCHES)
    step = 0
    if os.path.exists("last.pt"):
        state = torch.load("last.pt")
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
        sched.load_state_dict(state["sched"])
        step = state["step"]
        print(f"resumed from last.pt at step {step}", flush=True)
    w = torch.randn(28, 1, generator=torch.Generator().manual_seed(1))
    while step < EPOCHS * BATCHES:
        x = torch.randn(64, 28)
        loss = (net(x) - torch.tanh(x @ w)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        time.sleep(0.2)
        step += 1
        if step % 10 == 0:
            print(f"step {step:4d}/{EPOCHS * BATCHES}  mae {loss.item():.4f}  lr {sched.get_last_lr()[0]:.2e}", flush=True)
        if step % 20 == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "step": step},
                       "last.pt.tmp")
            os.replace("last.pt.tmp", "last.pt")
    torch.save(net.state_dict(), "forecast.pt")
    print("finished", flush=True)


if __name__ == "__main__":
    main()
