import argparse
import math
import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import ElectraConfig, ElectraForTokenClassification, get_scheduler

LABELS = ["O", "B-PER", "I-PER", "B-LOC"]


class NerSet(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(40, 400, (n, 20), generator=g)
        self.y = torch.zeros(n, 20, dtype=torch.long)
        for i in range(n):
            p = int(torch.randint(0, 17, (1,), generator=g))
            if i % 2:
                self.x[i, p], self.x[i, p + 1] = 4 + i % 10, 14 + i % 10
                self.y[i, p], self.y[i, p + 1] = 1, 2
            else:
                self.x[i, p], self.y[i, p] = 24 + i % 15, 3

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--num_train_epochs", type=int, default=3)
    p.add_argument("--gradient_accumulation_steps", type=int, default=2)
    args = p.parse_args()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.gradient_accumulation_steps)
    torch.manual_seed(0)
    train, dev = DataLoader(NerSet(1280, 1), batch_size=8, shuffle=True), DataLoader(NerSet(160, 2), batch_size=32)
    model = ElectraForTokenClassification(ElectraConfig(vocab_size=400, embedding_size=48, hidden_size=48, num_hidden_layers=2,
                                                        num_attention_heads=4, intermediate_size=96, max_position_embeddings=32,
                                                        num_labels=len(LABELS)))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    total = args.num_train_epochs * math.ceil(len(train) / args.gradient_accumulation_steps)
    sched = get_scheduler("linear", opt, num_warmup_steps=20, num_training_steps=total)
    model, opt, train, dev, sched = accelerator.prepare(model, opt, train, dev, sched)
    bar = tqdm(range(total), disable=not accelerator.is_local_main_process)
    for epoch in range(args.num_train_epochs):
        model.train()
        for batch in train:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                opt.step()
                sched.step()
                opt.zero_grad()
            time.sleep(0.07)
            if accelerator.sync_gradients:
                bar.update(1)
                bar.set_postfix(loss=f"{loss.item():.4f}")
        model.eval()
        right = found = gold = 0
        for batch in dev:
            with torch.no_grad():
                pred = model(**batch).logits.argmax(-1)
            pred, ref = accelerator.gather_for_metrics((pred, batch["labels"]))
            right += int(((pred == ref) & (ref > 0)).sum())
            found, gold = found + int((pred > 0).sum()), gold + int((ref > 0).sum())
        prec, rec = right / max(found, 1), right / max(gold, 1)
        accelerator.print(f"epoch {epoch}: precision {prec:.3f} recall {rec:.3f} f1 {2 * prec * rec / max(prec + rec, 1e-9):.3f}")
        accelerator.save_state(f"state/epoch_{epoch}")
    accelerator.unwrap_model(model).save_pretrained("ner-final")
    accelerator.print("model saved to ner-final")


main()
