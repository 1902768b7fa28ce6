"""Surrogate of a heat equation with ignite on a spot box: SIGTERM saves the state and leaves with 75."""
import logging
import os
import signal
import sys
import time
from pathlib import Path

import torch
from ignite.engine import Engine, Events
from ignite.metrics import RunningAverage
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s", stream=sys.stdout)
log = logging.getLogger("surrogate")
TOTAL, STATE = 230, Path("state.pt")


def batch():
    a, b = torch.rand(64, 1), torch.rand(64, 1)
    t, x = torch.rand(64, 1), torch.rand(64, 1)
    u = a * torch.exp(-t) * torch.sin(3.14159 * x) + b * torch.exp(-4 * t) * torch.sin(6.28318 * x)
    return torch.cat([a, b, t, x], 1), u


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    done = 0
    if STATE.exists():
        s = torch.load(STATE)
        net.load_state_dict(s["net"])
        opt.load_state_dict(s["opt"])
        done = s["iteration"]
        log.info("resumed from %s at iteration %d", STATE, done)

    def step(engine, _):
        x, u = batch()
        loss = ((net(x) - u) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.33)
        return loss.item()

    trainer = Engine(step)
    RunningAverage(output_transform=lambda o: o).attach(trainer, "mse")

    def save():
        it = done + trainer.state.iteration
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "iteration": it}, "state.tmp")
        os.replace("state.tmp", STATE)
        return it

    term = []
    signal.signal(signal.SIGTERM, lambda *_: term.append(1))

    @trainer.on(Events.ITERATION_COMPLETED)
    def each(engine):
        it = done + engine.state.iteration
        if it % 5 == 0:
            log.info("iteration %d/%d mse %.6f", it, TOTAL, engine.state.metrics["mse"])
        if it % 40 == 0:
            log.info("saved iteration %d", save())
        if term:
            log.warning("SIGTERM received: the provider takes the machine back; state of iteration %d saved, leaving", save())
            sys.exit(75)

    Path("pid").write_text(str(os.getpid()))
    trainer.run([0] * (TOTAL - done), max_epochs=1)
    torch.save(net.state_dict(), "surrogate.pt")
    log.info("training complete, surrogate.pt saved")


if __name__ == "__main__":
    main()
