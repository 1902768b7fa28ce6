import faulthandler
import json
import logging
import os
import queue
import signal
import sys
import threading
import time

import torch

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(threadName)s %(levelname)s %(message)s")
log = logging.getLogger()
conf = {"lr": 0.002, "save_every": 50}
reload_wanted = threading.Event()


def on_hup(signum, frame):
    reload_wanted.set()


def producer(out, steps):
    g = torch.Generator().manual_seed(6)
    w = torch.randn(24, 1, generator=g)
    for _ in range(steps):
        x = torch.randn(64, 24, generator=g)
        out.put((x, torch.tanh(x @ w / 5) + 0.05 * torch.randn(64, 1, generator=g)))


def main():
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    signal.signal(signal.SIGHUP, on_hup)
    with open("run.pid", "w") as f:
        f.write(str(os.getpid()))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    os.makedirs("snapshots", exist_ok=True)
    steps = 200
    batches = queue.Queue(maxsize=4)
    threading.Thread(target=producer, args=(batches, steps), name="producer", daemon=True).start()
    net = torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=conf["lr"])
    log.info("pid %d; kill -USR1 prints the stacks, kill -HUP reads config.json again", os.getpid())
    for step in range(1, steps + 1):
        if reload_wanted.is_set():
            reload_wanted.clear()
            log.warning("SIGHUP received, reading config.json again")
            with open("config.json") as f:
                conf.update(json.load(f))
            for group in opt.param_groups:
                group["lr"] = conf["lr"]
            log.warning("configuration is now %s", json.dumps(conf))
        x, y = batches.get()
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.35)
        if step % 4 == 0:
            log.info("step %d of %d, loss %.5f", step, steps, loss.item())
        if step % conf["save_every"] == 0:
            tmp = "snapshots/.tmp"
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, tmp)
            os.replace(tmp, "snapshots/latest.pt")
            log.info("snapshot of step %d written", step)
    log.info("finished, final loss %.5f", loss.item())


if __name__ == "__main__":
    main()
