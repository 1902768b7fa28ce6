"""Fine tuning with Accelerate: quick evaluation on the way, the full one after each epoch."""
import logging
import os
import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup

from corpus import text

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
log = logging.getLogger("finetune")
torch.manual_seed(21)
PACE = float(os.environ.get("PACE", 0.45))
STEPS = int(os.environ.get("STEPS", 130))
VOCAB, SEQ = 32000, 64


def blocks(chars, seed):
    """Words as tokens (hashed into the vocabulary of the base model)."""
    words = text(chars, seed).split()
    ids = torch.tensor([sum(ord(c) * 31 ** i for i, c in enumerate(w)) % VOCAB for w in words])
    return TensorDataset(ids[: len(ids) // SEQ * SEQ].view(-1, SEQ))


acc = Accelerator(cpu=True)
model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
train = DataLoader(blocks(600_000, 4), batch_size=2, shuffle=True)
valid = DataLoader(blocks(4_200_000, 5), batch_size=4)
sched = get_cosine_schedule_with_warmup(opt, 15, 3 * STEPS)
model, opt, train, valid, sched = acc.prepare(model, opt, train, valid, sched)
log.info("***** Running training *****")
log.info("  Num examples = %d, eval = %d", len(train.dataset), len(valid.dataset))


@torch.no_grad()
def evaluate(part=None):
    """Perplexity and accuracy from the logits of all of it."""
    model.eval()
    n = part or len(valid.dataset)
    logits = torch.zeros(n, SEQ, VOCAB)
    labels = torch.zeros(n, SEQ, dtype=torch.long)
    at = 0
    for (x,) in valid:
        x = x[: n - at]
        logits[at: at + len(x)], labels[at: at + len(x)] = model(input_ids=x).logits, x
        at += len(x)
        if at >= n:
            break
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    hit = (logits[:, :-1].argmax(-1) == labels[:, 1:]).float().mean()
    model.train()
    return loss.item(), hit.item()


for epoch in range(3):
    step = 0
    for (x,) in train:
        t = time.time()
        loss = model(input_ids=x, labels=x).loss
        acc.backward(loss)
        acc.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        time.sleep(PACE)
        step += 1
        log.info("epoch %d step %d loss=%.4f lr=%.2e %.2f s/it", epoch, step, loss.item(), sched.get_last_lr()[0], time.time() - t)
        if step % 50 == 0 and step < STEPS:
            log.info("quick eval: loss=%.4f acc=%.3f", *evaluate(16))
        if step == STEPS:
            break
    log.info("epoch %d done, full evaluation on %d blocks", epoch, len(valid.dataset))
    log.info("eval: loss=%.4f acc=%.3f", *evaluate())
    acc.save_state(f"epoch_{epoch}")
