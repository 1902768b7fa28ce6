"""Small text classifier. A reporter thread writes a summary of the run now and then."""
import json
import os
import threading
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
STEPS = 400
state_lock = threading.Lock()   # guards the model and the running numbers
log_lock = threading.Lock()     # guards metrics.jsonl and stdout
state = {"step": 0, "losses": []}
logf = open("metrics.jsonl", "a")


def write(rec):
    line = json.dumps(rec)
    logf.write(line + "\n")
    logf.flush()
    print(line, flush=True)


def reporter(model, every_s):
    while True:
        time.sleep(every_s)
        with log_lock:
            write({"event": "summary_begin", "time": round(time.time(), 1)})
            os.fsync(logf.fileno())
            time.sleep(0.2)                      # network disk: the sync is not for free
            with state_lock:
                norm = sum(p.detach().norm().item() for p in model.parameters())
                last = state["losses"][-50:]
                write({"event": "summary", "step": state["step"], "param_norm": round(norm, 3),
                       "mean_loss": round(sum(last) / max(1, len(last)), 4)})


def main():
    model = nn.Sequential(nn.EmbeddingBag(2000, 64), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 20))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    teacher = torch.randn(2000, 20)
    write({"event": "start", "steps": STEPS, "params": sum(p.numel() for p in model.parameters())})
    threading.Thread(target=reporter, args=(model, 25.0), name="reporter", daemon=True).start()
    for step in range(1, STEPS + 1):
        x = torch.randint(0, 2000, (64, 32))
        y = teacher[x].mean(1).argmax(1)
        with state_lock:
            t0 = time.time()
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.25)
            state["step"] = step
            state["losses"].append(loss.item())
            with log_lock:
                write({"step": step, "loss": round(loss.item(), 4), "lr": 2e-3, "sec": round(time.time() - t0, 3)})
    write({"event": "end"})


if __name__ == "__main__":
    main()
