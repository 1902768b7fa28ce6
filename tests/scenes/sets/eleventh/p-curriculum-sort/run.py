"""Teach a small GPT to sort digits; the sequences get longer when a stage is mastered."""
import json
import time
from collections import deque

import torch
from accelerate import Accelerator
from transformers import GPT2Config, GPT2LMHeadModel

STAGES = [2, 4, 6, 8]
MASTERED, MIN_STEPS, MAX_STEPS, BATCH = 0.12, 60, 160, 32
log = open("events.jsonl", "w", buffering=1)


def event(kind, **kw):
    line = json.dumps({"t": round(time.time(), 2), "kind": kind, **kw})
    print(line, flush=True)
    log.write(line + "\n")


def sample(n, gen):
    x = torch.randint(0, 10, (BATCH, n), generator=gen)
    y = x.sort(-1).values
    ids = torch.cat([x, torch.full((BATCH, 1), 10), y], 1)
    labels = ids.clone()
    labels[:, :n + 1] = -100
    return ids, labels


def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(2)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=20, n_embd=64, n_layer=2, n_head=4, bos_token_id=10, eos_token_id=10,
                                       resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    model, opt = acc.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-3))
    gen, step = torch.Generator().manual_seed(2), 0
    for number, n in enumerate(STAGES, 1):
        event("stage", stage=number, of=len(STAGES), digits=n)
        recent = deque(maxlen=20)
        for k in range(1, MAX_STEPS + 1):
            ids, labels = sample(n, gen)
            loss = model(input_ids=ids, labels=labels).loss
            acc.backward(loss)
            acc.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            recent.append(loss.item())
            step += 1
            time.sleep(0.09)
            if step % 10 == 0:
                event("train", step=step, stage=number, loss=round(sum(list(recent)[-10:]) / min(10, len(recent)), 4))
            if k >= MIN_STEPS and sum(recent) / len(recent) < MASTERED:
                break
        acc.save_model(model, f"stage{number}")
        event("stage_done", stage=number, steps=k, loss=round(sum(recent) / len(recent), 4))
    event("end", steps=step)


main()
