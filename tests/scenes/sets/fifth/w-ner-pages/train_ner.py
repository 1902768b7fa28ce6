# token classification over scanned pages; only the first sub-token of a word has a label, the rest is -100
import os, time
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments, set_seed

N_TAGS, SEQ = 9, 32


class Pages(torch.utils.data.Dataset):
    """in the order of the archive (box, folder, page)"""
    def __init__(self, n):
        g = np.random.default_rng(11)
        self.ids = g.integers(10, 300, size=(n, SEQ))
        self.lab = self.ids % N_TAGS
        self.lab[:, ::2] = -100
        blank = slice(8 * 86, 8 * 88 + 4)               # a folder of photographs: no words on them
        self.ids[blank] = 3
        self.lab[blank] = -100

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        time.sleep(0.02)
        x = torch.tensor(self.ids[i])
        return {"input_ids": x, "attention_mask": torch.ones_like(x), "labels": torch.tensor(self.lab[i])}


class TagTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        mask = (labels != -100).float()
        per_token = F.cross_entropy(out.logits.view(-1, N_TAGS), labels.clamp(min=0).view(-1), reduction="none")
        loss = (per_token * mask.view(-1)).sum() / mask.sum()
        return (loss, out) if return_outputs else loss


if __name__ == "__main__":
    set_seed(3)
    torch.set_num_threads(1)
    cfg = BertConfig(vocab_size=320, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=96, max_position_embeddings=64, num_labels=N_TAGS)
    args = TrainingArguments(
        output_dir="ner-out", max_steps=320, per_device_train_batch_size=8, learning_rate=1e-3, logging_steps=10,
        lr_scheduler_type="constant", save_strategy="steps", save_steps=40, save_total_limit=2,
        train_sampling_strategy="sequential", use_cpu=True, dataloader_pin_memory=False, disable_tqdm=True,
        report_to="none", seed=3)
    TagTrainer(model=BertForTokenClassification(cfg), args=args, train_dataset=Pages(8 * 320)).train()
    print("training finished")
