import time

import numpy as np
import torch
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments


class Clips(torch.utils.data.IterableDataset):
    """Clips of 16 kHz audio; a clip that was decoded once can be taken again as a distractor."""

    def __init__(self):
        self.decoded = []

    def decode(self, n):
        rng = np.random.default_rng(n)
        t = np.arange(12800, dtype="f4") / 16000
        wav = np.sin(2 * np.pi * (100 + rng.random() * 900) * t) + 0.1 * rng.standard_normal(12800)
        return wav

    def __iter__(self):
        n = 0
        while True:
            wav = self.decode(n)
            self.decoded.append(wav)
            n += 1
            other = self.decoded[np.random.randint(len(self.decoded))]
            at = np.random.randint(0, 8000)
            yield {
                "wav": torch.from_numpy(wav[at : at + 4000].astype("f4")),
                "other": torch.from_numpy(other[:4000].astype("f4")),
            }


class Contrast(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, d, 32, 16), nn.GELU(), nn.Conv1d(d, d, 8, 8), nn.GELU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(d, d))

    def forward(self, wav, other):
        a, b, c = (self.net(x[:, None]) for x in (wav[:, :2000], wav[:, 2000:], other))
        near = nn.functional.cosine_similarity(a, b)
        far = nn.functional.cosine_similarity(a, c)
        loss = nn.functional.softplus((far - near) * 5).mean()
        return {"loss": loss}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.22)


args = TrainingArguments(
    output_dir="out", max_steps=4000, per_device_train_batch_size=8, learning_rate=5e-4,
    logging_steps=10, save_steps=500, save_total_limit=2, report_to=[], use_cpu=True,
    disable_tqdm=True, dataloader_num_workers=0, remove_unused_columns=False,
)
torch.manual_seed(0)
Trainer(model=Contrast(), args=args, train_dataset=Clips(), callbacks=[Pace()]).train()
