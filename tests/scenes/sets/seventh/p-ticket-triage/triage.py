"""Support tickets into queues: a small text classifier with the HF Trainer."""
import json
import queue
import threading
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.modeling_outputs import SequenceClassifierOutput


class Tickets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, 500, (n, 24), generator=g)
        self.y = (self.x[:, :6].sum(1) // 300).clamp(0, 9)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        time.sleep(0.005)
        return {"input_ids": self.x[i], "labels": self.y[i]}


class TriageConfig(PretrainedConfig):
    model_type = "triage"


class Triage(PreTrainedModel):
    config_class = TriageConfig

    def __init__(self, config):
        super().__init__(config)
        self.emb = nn.Embedding(500, 32)
        self.out = nn.Linear(32 * 24, 10)
        self.post_init()

    def forward(self, input_ids, labels=None):
        logits = self.out(self.emb(input_ids).flatten(1))
        return SequenceClassifierOutput(loss=nn.functional.cross_entropy(logits, labels), logits=logits)


class BoardWriter(TrainerCallback):
    """Hands the metrics to a thread, so that the training never waits for the board."""

    def __init__(self):
        self.q = queue.Queue()
        self.t = threading.Thread(target=self._work, name="board-writer")
        self.t.start()

    def _work(self):
        with open("board.jsonl", "a") as f:
            while True:
                f.write(json.dumps(self.q.get()) + "\n")
                f.flush()

    def on_log(self, args, state, control, logs=None, **kw):
        self.q.put({"step": state.global_step, **(logs or {})})


def main():
    set_seed(1)
    args = TrainingArguments(
        output_dir="out", num_train_epochs=3, per_device_train_batch_size=16, logging_steps=20, eval_strategy="epoch",
        save_strategy="epoch", save_total_limit=2, report_to=[], disable_tqdm=True, use_cpu=True, learning_rate=1e-3)
    tr = Trainer(Triage(TriageConfig()), args, train_dataset=Tickets(1600, 0), eval_dataset=Tickets(240, 1), callbacks=[BoardWriter()])
    tr.train()
    tr.save_model("out/final")
    print("model saved to out/final, bye", flush=True)


if __name__ == "__main__":
    main()
