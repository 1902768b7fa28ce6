"""Fine-tune a small BERT on radiology notes (4 findings). Noisy labels, so we stop early and keep the best epoch."""
import random
import time
import warnings

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainingArguments, set_seed)

torch.set_num_threads(1)
VOCAB, LENGTH, FINDINGS = 500, 32, 4


class Notes(Dataset):
    """Tokenises on the fly; about two of three labels of the students are guesses."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            truth = rng.randrange(FINDINGS)
            words = [rng.randrange(5, VOCAB) for _ in range(LENGTH)]
            for k in range(0, LENGTH, 6):
                words[k] = 20 + truth * 30 + rng.randrange(30)
            label = truth if rng.random() < 0.35 else rng.randrange(FINDINGS)
            self.rows.append((words, label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        words, label = self.rows[i]
        if i % 97 == 0:
            warnings.warn(f"note {i}: token sequence is longer than the maximum length (612 > 32), it will be truncated")
        time.sleep(0.03)
        return {"input_ids": words, "attention_mask": [1] * LENGTH, "labels": label}


def accuracy(pred):
    guess = np.argmax(pred.predictions, axis=-1)
    return {"accuracy": float((guess == pred.label_ids).mean())}


def main():
    set_seed(17)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
        max_position_embeddings=LENGTH + 2, num_labels=FINDINGS))
    args = TrainingArguments(
        output_dir="notes-bert",
        num_train_epochs=5,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=32,
        learning_rate=2e-3,
        logging_steps=5,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        disable_tqdm=True,
        use_cpu=True,
        report_to="none",
        seed=17,
    )
    trainer = Trainer(model=model, args=args, train_dataset=Notes(240, 1), eval_dataset=Notes(320, 2), compute_metrics=accuracy,
                      callbacks=[EarlyStoppingCallback(early_stopping_patience=2)])
    trainer.train()
    print("best checkpoint:", trainer.state.best_model_checkpoint, "eval_loss", trainer.state.best_metric, flush=True)
    test = trainer.predict(Notes(600, 3), metric_key_prefix="test")
    print(test.metrics, flush=True)
    trainer.save_model("notes-bert/best")


if __name__ == "__main__":
    main()
