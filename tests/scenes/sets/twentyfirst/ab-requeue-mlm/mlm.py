"""Masked LM that can be preempted: SIGTERM saves the state and leaves with 85, the queue starts it again."""
import logging
import os
import signal
import time

import torch
from transformers import RobertaConfig, RobertaForMaskedLM

logging.basicConfig(format="[%(asctime)s] %(message)s", level=logging.INFO, datefmt="%Y-%m-%d %H:%M:%S")
STEPS, STATE, V = 320, "state/mlm.pt", 150
asked = False


def on_term(*_):
    global asked
    asked = True
    logging.warning("SIGTERM received, will save after this step")


signal.signal(signal.SIGTERM, on_term)
torch.manual_seed(0)
net = RobertaForMaskedLM(RobertaConfig(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=40, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
step = 0
os.makedirs("state", exist_ok=True)
if os.path.exists(STATE):
    s = torch.load(STATE)
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    step = s["step"]
    logging.info("resumed at step %d", step)
with open("mlm.pid", "w") as f:
    f.write(str(os.getpid()))


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, STATE + ".tmp")
    os.replace(STATE + ".tmp", STATE)
    logging.info("state saved at step %d", step)


while step < STEPS:
    g = torch.Generator().manual_seed(step)
    start = torch.randint(3, 50, (8, 1), generator=g)
    x = 3 + (start + torch.arange(24) * torch.randint(1, 4, (8, 1), generator=g)) % (V - 3)
    hide = torch.rand(x.shape, generator=g) < 0.2
    y = torch.where(hide, x, -100)
    loss = net(input_ids=x.masked_fill(hide, 2), labels=y).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.32)
    if step % 5 == 0:
        logging.info("step %d/%d mlm_loss %.4f", step, STEPS, loss.item())
    if asked:
        save()
        logging.info("preempted, leaving with code 85 for the requeue")
        raise SystemExit(85)
    if step % 50 == 0:
        save()
logging.info("finished")
