import argparse
import json
import time

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import DistilBertConfig, DistilBertForSequenceClassification, PreTrainedTokenizerFast

p = argparse.ArgumentParser()
p.add_argument("--data")
p.add_argument("--out")
p.add_argument("--batch", type=int, default=8)
p.add_argument("--epochs", type=int, default=2)
o = p.parse_args()
torch.set_num_threads(1)
torch.manual_seed(1)


def tokenizer(texts):
    tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"]))
    return PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]")


rows = [json.loads(line) for line in open(o.data)]
tok = tokenizer(r["text"] for r in rows[:800])
model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=len(tok), dim=48, n_layers=2, n_heads=2,
                                                             hidden_dim=96, max_position_embeddings=64))
added = tok.add_special_tokens({"additional_special_tokens": ["<person>"]})
print(f"{len(rows)} reviews, vocabulary {len(tok)} ({added} added)")
optim = torch.optim.AdamW(model.parameters(), lr=5e-4)
step, began = 0, time.time()
for epoch in range(o.epochs):
    right = seen = 0
    for at in range(0, len(rows), o.batch):
        chunk = rows[at:at + o.batch]
        enc = tok([r["text"] for r in chunk], padding=True, return_tensors="pt", return_token_type_ids=False)
        out = model(**enc, labels=torch.tensor([r["label"] for r in chunk]))
        out.loss.backward()
        optim.step()
        optim.zero_grad()
        right += (out.logits.argmax(-1) == torch.tensor([r["label"] for r in chunk])).sum().item()
        seen += len(chunk)
        step += 1
        time.sleep(0.18)
        if step % 10 == 0:
            print(f"e{epoch} | {step:4d} | loss {out.loss.item():.3f} | acc {right / seen:.3f} | {step / (time.time() - began):.2f} it/s")
    model.save_pretrained(o.out)
    tok.save_pretrained(o.out)
    print(f"epoch {epoch} saved to {o.out}")
