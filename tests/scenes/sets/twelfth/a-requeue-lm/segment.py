"""Trains until the time slot of the scheduler is used up, then saves and asks for another one (exit code 85)."""
import os, signal, sys, time
import torch
import torch.nn as nn

SLOT_S, STEPS = float(os.environ.get("SLOT_S", 20)), 300
start, stop = time.time(), []
signal.signal(signal.SIGUSR1, lambda *_: stop.append(1))
torch.manual_seed(6)
torch.set_num_threads(1)
text = ("all happy families are alike; each unhappy family is unhappy in its own way. " * 60).encode()
data = torch.tensor(list(text))
model = nn.ModuleDict({"emb": nn.Embedding(128, 48), "rnn": nn.GRU(48, 96, batch_first=True), "out": nn.Linear(96, 128)})
opt = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
step = 0
if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    model.load_state_dict(s["model"]), opt.load_state_dict(s["opt"])
    step = s["step"]
    print(f"segment {os.environ['SEGMENT']}: resuming from state.pt at step {step}", flush=True)
else:
    print(f"segment {os.environ['SEGMENT']}: no state.pt found, starting from scratch", flush=True)


def save():
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "state.pt.new")
    os.replace("state.pt.new", "state.pt")


while step < STEPS:
    i = torch.randint(0, len(data) - 50, (8,))
    x = torch.stack([data[j:j + 49] for j in i])
    h, _ = model["rnn"](model["emb"](x[:, :-1]))
    loss = nn.functional.cross_entropy(model["out"](h).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.15)
    if step % 10 == 0:
        print(f"step {step}/{STEPS} bpc {loss.item()/0.6931:.3f}", flush=True)
    if stop or time.time() - start > SLOT_S:
        save()
        print(f"time slot used up, state saved at step {step}, asking for requeue", flush=True)
        sys.exit(85)
save()
print("training complete", flush=True)
