import os, time
import numpy as np, torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, Wav2Vec2Config, Wav2Vec2ForCTC, set_seed

set_seed(1)


class Speech(Dataset):
    def __init__(self, n, offset):
        self.n, self.offset = n, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        r = np.random.default_rng(i + self.offset)
        y = r.permutation(np.arange(1, 12))[:4]
        t = np.arange(800) / 8000
        wav = np.concatenate([np.sin(2 * np.pi * (150 + 120 * k) * t) for k in y]) + 0.05 * r.standard_normal(3200)
        time.sleep(0.015)
        return {"input_values": torch.tensor(wav, dtype=torch.float32), "labels": torch.tensor(y)}


config = Wav2Vec2Config(
    vocab_size=12, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
    conv_dim=(32, 32, 32), conv_kernel=(10, 8, 4), conv_stride=(5, 4, 4), num_feat_extract_layers=3,
    num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, ctc_loss_reduction="mean", pad_token_id=0,
    mask_time_prob=0.0, apply_spec_augment=False, layerdrop=0.0, feat_extract_norm="group",
)
model = Wav2Vec2ForCTC(config)


def wer(p):
    ids = p.predictions.argmax(-1)
    wrong = 0
    for row, ref in zip(ids, p.label_ids):
        out = [k for j, k in enumerate(row) if k and (j == 0 or row[j - 1] != k)]
        wrong += out != [k for k in ref if k > 0]
    return {"ser": wrong / len(ids)}


trainer = Trainer(
    model=model, train_dataset=Speech(800, 0), eval_dataset=Speech(40, 10**6), compute_metrics=wer,
    args=TrainingArguments(
        output_dir="out", per_device_train_batch_size=8, num_train_epochs=4, learning_rate=1e-3, warmup_steps=20,
        logging_steps=20, eval_strategy="steps", eval_steps=100, save_steps=100, save_total_limit=2, use_cpu=True, report_to=[],
        lr_scheduler_type="cosine",
    ),
)
trainer.train()
print(trainer.evaluate())
