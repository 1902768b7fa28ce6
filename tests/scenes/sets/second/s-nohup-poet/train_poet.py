import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(31)
want_save = False


def on_usr1(signum, frame):
    global want_save
    want_save = True


signal.signal(signal.SIGUSR1, on_usr1)
with open("train.pid", "w") as f:
    f.write(str(os.getpid()))
emb, rnn, head = nn.Embedding(70, 24), nn.LSTM(24, 64, batch_first=True), nn.Linear(64, 70)
params = [*emb.parameters(), *rnn.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=3e-3)
t0 = time.time()
for it in range(1, 521):
    ids = (torch.randint(0, 70, (8, 1)) + torch.arange(25) * 3) % 70
    h, _ = rnn(emb(ids[:, :-1]))
    loss = nn.functional.cross_entropy(head(h).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.13)
    if it % 15 == 0:
        print("%6.1f s   batch %4d   bits/char %.3f" % (time.time() - t0, it, loss.item() / 0.6931), flush=True)
    if want_save:
        want_save = False
        print("got SIGUSR1: saving poet_now.pt, going on", flush=True)
        torch.save({"emb": emb.state_dict(), "rnn": rnn.state_dict(), "head": head.state_dict(), "it": it}, "poet_now.pt")
print("fertig", flush=True)
