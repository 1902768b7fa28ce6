import os
import random
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

import tok as T

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
WORDS = ("the a one every old new red small quick quiet ship cat road tree king lamp runs sees finds keeps near under over "
         "with without house river sea hill day night and or but then").split()


def corpus():
    rnd = random.Random(4)
    prose = [" ".join(rnd.choice(WORDS) for _ in range(14)) for _ in range(2800)]
    chats = [f"<|user|> {' '.join(rnd.choice(WORDS) for _ in range(5))} <|end|> <|assistant|> "
             f"{' '.join(rnd.choice(WORDS) for _ in range(6))} <|end|>" for _ in range(700)]
    return prose, chats


def say(msg):
    print(f"{time.strftime('%H:%M:%S')} rank{RANK} {msg}")


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    prose, chats = corpus()
    tok = T.build(prose)
    cfg = GPT2Config(vocab_size=len(tok), n_positions=32, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    tok = T.add_chat_markers(tok)
    model = DistributedDataParallel(GPT2LMHeadModel(cfg))
    rows = prose + chats
    per_rank = len(rows) // WORLD
    mine = rows[RANK * per_rank:(RANK + 1) * per_rank]
    say(f"{len(mine)} of {len(rows)} documents, vocabulary {cfg.vocab_size}")

    def collate(texts):
        enc = tok(texts, padding="max_length", truncation=True, max_length=16, return_tensors="pt")
        ids = enc["input_ids"]
        return ids, enc["attention_mask"], ids.masked_fill(ids == 0, -100)

    opt = torch.optim.AdamW(model.parameters(), lr=8e-4)
    step, t0 = 0, time.time()
    for epoch in range(2):
        for ids, mask, labels in DataLoader(mine, batch_size=8, collate_fn=collate):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
            loss.backward()
            opt.step()
            opt.zero_grad(set_to_none=True)
            step += 1
            time.sleep(0.16)
            if step % 10 == 0:
                say(f"epoch {epoch} step {step} loss {loss.item():.4f} ({step / (time.time() - t0):.1f} it/s)")
    if RANK == 0:
        model.module.save_pretrained("final")
        say("saved to final/")
    dist.destroy_process_group()


main()
