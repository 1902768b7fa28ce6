"""Recipe language model; each 40 steps a generation server is started, asked, and put down again."""
import http.client
import json
import logging
import os
import socket
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("recipes")
VOCAB, STEPS = 150, 310


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.l1, self.l2 = nn.Embedding(VOCAB, 48), nn.Linear(48, 96), nn.Linear(96, VOCAB)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(self.emb(x))))


def allowed(a, b):
    return (b - a * 5) % VOCAB in (1, 4, 9)


def generate(model, step):
    """Server hangs on shutdown now and then, therefore it is killed and not asked."""
    np.savez("export.npz", emb=model.emb.weight.detach(), w1=model.l1.weight.detach(), b1=model.l1.bias.detach(),
             w2=model.l2.weight.detach(), b2=model.l2.bias.detach())
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    proc = subprocess.Popen([sys.executable, "gen_server.py", "export.npz", str(port)])
    good = total = failed = 0
    for start in range(20):
        while True:
            try:
                con = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                con.request("GET", f"/?start={start * 7}")
                seq = json.load(con.getresponse())
                con.close()
                break
            except ConnectionError as e:
                failed += 1
                if failed == 1:
                    log.warning("generation server not up yet: %s", e)
                if proc.poll() is not None or failed > 100:
                    raise
                time.sleep(0.5)
        good += sum(allowed(a, b) for a, b in zip(seq, seq[1:]))
        total += len(seq) - 1
        time.sleep(0.15)
    proc.kill()
    log.warning("generation server pid %d killed, returncode %d", proc.pid, proc.wait())
    log.info("step %d samples: %.3f of the transitions are valid", step, good / total)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
    gen = torch.Generator().manual_seed(5)
    for step in range(1, STEPS + 1):
        a = torch.randint(0, VOCAB, (64,), generator=gen)
        b = (a * 5 + torch.tensor([1, 4, 9])[torch.randint(0, 3, (64,), generator=gen)]) % VOCAB
        loss = F.cross_entropy(model(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.28)
        if step % 10 == 0:
            log.info("step %d/%d loss %.4f", step, STEPS, loss.item())
        if step % 40 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "last.tmp")
            os.replace("last.tmp", "last.pt")
            generate(model, step)
    log.info("finished")


if __name__ == "__main__":
    main()
