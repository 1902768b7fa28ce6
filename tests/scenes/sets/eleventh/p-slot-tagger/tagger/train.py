import argparse
import json
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForTokenClassification

from .data import Slots


def emit(**kw):
    kw = {"ts": round(time.time(), 3), **kw}
    sys.stdout.write(json.dumps(kw) + "\n")
    sys.stdout.flush()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    cfg = json.load(open(ap.parse_args().config))
    set_seed(cfg["seed"])
    acc = Accelerator(cpu=True)
    model = BertForTokenClassification(BertConfig(
        vocab_size=cfg["vocab"], hidden_size=cfg["hidden"], num_hidden_layers=cfg["layers"], num_attention_heads=4,
        intermediate_size=96, max_position_embeddings=64, num_labels=cfg["labels"],
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    o = cfg["optim"]
    opt = torch.optim.SGD(model.parameters(), lr=o["lr"], momentum=o["momentum"])
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=o["gamma"])
    model, opt, sched, loader = acc.prepare(model, opt, sched, DataLoader(Slots(cfg), batch_size=cfg["batch"]))
    emit(event="start", params=sum(p.numel() for p in model.parameters()), config=cfg)
    model.train()
    mean, t0 = 0.0, time.time()
    for step, batch in enumerate(loader, 1):
        time.sleep(cfg["io_delay"])
        loss = model(**batch).loss
        acc.backward(loss)
        norm = acc.clip_grad_norm_(model.parameters(), o["clip"])
        opt.step()
        sched.step()
        opt.zero_grad()
        mean += loss.item() / cfg["log_every"]
        if step % cfg["log_every"] == 0:
            emit(event="train", step=step, loss=round(mean, 4), grad_norm=round(float(norm), 3),
                 lr=float(f"{sched.get_last_lr()[0]:.4g}"), steps_per_s=round(step / (time.time() - t0), 2))
            mean = 0.0
        if step % 160 == 0:
            acc.save_model(model, f"ckpt/step{step}")
            emit(event="checkpoint", step=step, path=f"ckpt/step{step}")
        if step >= cfg["steps"]:
            break
    emit(event="end", step=step)


main()
