import argparse
import time

import numpy as np
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, Wav2Vec2Config, Wav2Vec2ForCTC

VOCAB = 10
HZ = np.linspace(200, 3000, VOCAB)


def utterance(rng):
    units = rng.integers(1, VOCAB, size=5)
    t = np.arange(800) / 16000
    wav = np.concatenate([np.sin(2 * np.pi * HZ[u] * t) for u in units]) + 0.05 * rng.standard_normal(4000)
    return {"input_values": wav.astype("f4"), "labels": units}


class Speech(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.rows = [utterance(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    return {k: torch.from_numpy(np.stack([r[k] for r in rows])) for k in rows[0]}


def compute_metrics(pred):
    ids = pred.predictions.argmax(-1)
    wrong = total = 0
    for hyp, ref in zip(ids, pred.label_ids):
        seq = [h for i, h in enumerate(hyp) if h != 0 and (i == 0 or h != hyp[i - 1])]
        ref = [r for r in ref if r >= 0]
        d = np.arange(len(ref) + 1)
        for i, h in enumerate(seq, 1):
            prev, d[0] = d[0], i
            for j, r in enumerate(ref, 1):
                prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (h != r))
        wrong += d[-1]
        total += len(ref)
    return {"per": wrong / total}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.12)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--output_dir")
    out = p.parse_args().output_dir
    torch.manual_seed(3)
    cfg = Wav2Vec2Config(
        vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=2, intermediate_size=96,
        conv_dim=(32, 32, 32), conv_kernel=(10, 8, 4), conv_stride=(5, 8, 4), num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4, num_feat_extract_layers=3, pad_token_id=0, ctc_loss_reduction="mean",
        mask_time_prob=0.0, ctc_zero_infinity=True, feat_extract_norm="layer", hidden_dropout=0.0,
        attention_dropout=0.0, feat_proj_dropout=0.0, layerdrop=0.0,
    )
    args = TrainingArguments(
        output_dir=out, num_train_epochs=4, per_device_train_batch_size=8, per_device_eval_batch_size=16, learning_rate=1e-3,
        warmup_steps=20, logging_steps=10, eval_strategy="steps", eval_steps=60, save_steps=60, save_total_limit=2,
        load_best_model_at_end=True, metric_for_best_model="per", greater_is_better=False, report_to=[], use_cpu=True,
    )
    trainer = Trainer(model=Wav2Vec2ForCTC(cfg), args=args, train_dataset=Speech(480, 0), eval_dataset=Speech(64, 1),
                      data_collator=collate, compute_metrics=compute_metrics, callbacks=[Pace()])
    trainer.train()
    print(trainer.evaluate())
    trainer.save_model(out + "/final")
