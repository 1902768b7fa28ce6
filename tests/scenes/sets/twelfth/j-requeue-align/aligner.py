import configparser
import os
import signal
import sys
import time

leave = False


def on_usr1(*_):
    global leave
    leave = True


signal.signal(signal.SIGUSR1, on_usr1)

import torch  # noqa: E402
from torch import nn  # noqa: E402

ini = configparser.ConfigParser()
ini.read(sys.argv[1])
STEPS = ini.getint("run", "steps")
P, W = ini.getint("model", "phones"), ini.getint("model", "width")
torch.manual_seed(0)
torch.set_num_threads(1)
bank = torch.randn(P, 26)
rnn, head = nn.GRU(26, W, batch_first=True, bidirectional=True), nn.Linear(2 * W, P)
params = [*rnn.parameters(), *head.parameters()]
opt = torch.optim.AdamW(params, ini.getfloat("model", "rate"))
step, ema = 0, None


def save():
    torch.save({"rnn": rnn.state_dict(), "head": head.state_dict(), "opt": opt.state_dict(), "step": step, "ema": ema}, "state.tmp")
    os.replace("state.tmp", "state.pt")


if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    rnn.load_state_dict(s["rnn"])
    head.load_state_dict(s["head"])
    opt.load_state_dict(s["opt"])
    step, ema = s["step"], s["ema"]
    print(f"resumed from state.pt at step {step}")
g = torch.Generator().manual_seed(1000 + step)
open("running", "w").close()
while step < STEPS:
    y = torch.randint(0, P, (6, 12), generator=g).repeat_interleave(4, 1)
    x = bank[y] + 1.5 * torch.randn(6, 48, 26, generator=g)
    loss = nn.functional.cross_entropy(head(rnn(x)[0]).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
    time.sleep(0.1)
    if step % 15 == 0:
        print(f"step {step:4d}/{STEPS}  frame_xent {loss.item():.4f}  ema {ema:.4f}")
    if step % 100 == 0:
        save()
    if leave and step < STEPS:
        save()
        print(f"SIGUSR1: state saved at step {step}, leaving")
        sys.exit(85)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
save()
print("alignment model trained")
