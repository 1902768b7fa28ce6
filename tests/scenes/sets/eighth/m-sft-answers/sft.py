"""SFT of a small decoder on question/answer pairs; the loss is taken on the answer only."""
import argparse, random, time
import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, TrainerCallback, set_seed

ap = argparse.ArgumentParser()
ap.add_argument("--max-len", type=int, default=48)
ap.add_argument("--steps", type=int, default=400)
ap.add_argument("--out", default="out/sft-answers")
a = ap.parse_args()
set_seed(11)
torch.set_num_threads(1)
VOCAB = 200


class Pairs(Dataset):
    """prompt + answer, cut to max_len from the right, prompt masked with -100"""

    def __init__(self, n, max_len):
        rng = random.Random(3)
        self.rows = []
        for i in range(n):
            # the second source in the mix is long forum threads
            long_source = 620 <= i < 636
            plen = rng.randint(60, 90) if long_source else rng.randint(8, 24)
            key = rng.randint(5, 99)
            prompt = [1] + [rng.randint(100, VOCAB - 1) for _ in range(plen)] + [key]
            answer = [key + 1, key, key + 1, key, key + 1, 2]
            ids = (prompt + answer)[:max_len]
            lab = ([-100] * len(prompt) + answer)[:max_len]
            self.rows.append((ids, lab))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i][0], "labels": self.rows[i][1]}


def collate(batch):
    m = max(len(b["input_ids"]) for b in batch)
    ids = torch.tensor([b["input_ids"] + [0] * (m - len(b["input_ids"])) for b in batch])
    lab = torch.tensor([b["labels"] + [-100] * (m - len(b["labels"])) for b in batch])
    att = torch.tensor([[1] * len(b["input_ids"]) + [0] * (m - len(b["input_ids"])) for b in batch])
    return {"input_ids": ids, "labels": lab, "attention_mask": att}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.25)


class SeqTrainer(Trainer):
    def _get_train_sampler(self, *x, **k):        # sources are mixed beforehand, keep their order
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        """every answer counts the same, however long it is"""
        labels = inputs.pop("labels")
        out = model(**inputs)
        lg, lb = out.logits[:, :-1], labels[:, 1:]
        mask = (lb != -100).float()
        logp = lg.log_softmax(-1).gather(2, lb.clamp(min=0)[..., None])[..., 0]
        loss = (-(logp * mask).sum(1) / mask.sum(1)).mean()
        return (loss, out) if return_outputs else loss


model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                                     num_attention_heads=4, max_position_embeddings=128, pad_token_id=0,
                                     bos_token_id=1, eos_token_id=2))
args = TrainingArguments(output_dir=a.out, max_steps=a.steps, per_device_train_batch_size=4, learning_rate=2e-3,
                         warmup_steps=20, logging_steps=10, save_steps=100, save_total_limit=2, report_to=[],
                         lr_scheduler_type="cosine", use_cpu=True, seed=11)
tr = SeqTrainer(model=model, args=args, train_dataset=Pairs(2400, a.max_len), data_collator=collate, callbacks=[Pace()])
tr.train()
tr.save_model(a.out + "/final")
