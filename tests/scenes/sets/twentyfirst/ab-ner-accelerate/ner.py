"""Token classification (names, places) with an accelerate loop and a small BERT."""
import os
import random
import time

import torch
from accelerate import Accelerator
from tqdm.auto import tqdm
from transformers import BertConfig, BertForTokenClassification

WORDS = "meets visits leaves calls near the old bridge market today again with and".split()
NAMES = "anna boris chen dalia emil farah goran hana".split()
PLACES = "oslo lima quito turin graz accra".split()
V = {w: i + 1 for i, w in enumerate(WORDS + NAMES + PLACES)}


class Sents(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            ws = [rng.choice(rng.choice((WORDS, WORDS, NAMES, PLACES))) for _ in range(20)]
            self.rows.append((torch.tensor([V[w] for w in ws]), torch.tensor([1 if w in NAMES else 2 if w in PLACES else 0 for w in ws])))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i][0], "labels": self.rows[i][1]}


open("job.pid", "w").write(str(os.getpid()))
acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.manual_seed(0)
model = BertForTokenClassification(BertConfig(vocab_size=len(V) + 1, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, num_labels=3))
opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
dl = torch.utils.data.DataLoader(Sents(1600, 0), batch_size=8, shuffle=True)
val = torch.utils.data.DataLoader(Sents(200, 9), batch_size=50)
model, opt, dl, val = acc.prepare(model, opt, dl, val)
acc.print(f"{len(dl)} batches an epoch, 3 epochs")
bar = tqdm(total=3 * len(dl), desc="ner", mininterval=1)
step = 0
for epoch in range(3):
    model.train()
    for batch in dl:
        with acc.accumulate(model):
            out = model(**batch)
            acc.backward(out.loss)
            opt.step()
            opt.zero_grad()
        time.sleep(0.25)
        step += 1
        bar.update(1)
        if step % 10 == 0:
            bar.set_postfix(loss=f"{out.loss.item():.4f}", epoch=epoch)
        if step % 60 == 0:
            acc.save_state(f"state/step_{step}")
    model.eval()
    with torch.no_grad():
        hit = sum((model(**b).logits.argmax(-1) == b["labels"]).float().mean().item() for b in val) / len(val)
    tqdm.write(f"epoch {epoch}: token accuracy {hit:.4f}")
tqdm.write("training complete")
