import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel


def build_model():
    return GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=64, n_layer=2,
                                      n_head=2, bos_token_id=0, eos_token_id=0))


class Dialogs(Dataset):
    def __init__(self, n, seed, delay=0.04, length=32):
        g = torch.Generator().manual_seed(seed)
        rows = [torch.randint(0, 251, (n, 1), generator=g)]
        for _ in range(length - 1):
            rows.append((rows[-1] * 5 + 3) % 251)
        self.data, self.delay = torch.cat(rows, 1), delay

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        time.sleep(self.delay)
        return {"input_ids": self.data[i], "labels": self.data[i].clone()}
