"""LoRA by hand on a small GPT-2, with Accelerate and tqdm."""
import math
import os
import time

import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.pytorch_utils import Conv1D

torch.set_num_threads(1)
torch.manual_seed(6)
V, T, STEPS = 240, 32, 700
acc = Accelerator(cpu=True)
open("pid", "w").write(str(os.getpid()))


class LoRA(nn.Module):
    def __init__(self, base, r=16):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(base.weight.shape[0], r) / math.sqrt(r))
        self.b = nn.Parameter(torch.zeros(r, base.weight.shape[1]))

    def forward(self, x):
        return self.base(x) + x @ self.a @ self.b


model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=96, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0))
for p in model.transformer.h.parameters():
    p.requires_grad = False
for block in model.transformer.h:
    for part, name in ((block.attn, "c_attn"), (block.attn, "c_proj"), (block.mlp, "c_fc"), (block.mlp, "c_proj")):
        assert isinstance(getattr(part, name), Conv1D)
        setattr(part, name, LoRA(getattr(part, name)))
table = torch.randint(0, V, (V, 3))


def chain(i):
    g = torch.Generator().manual_seed(i)
    x = [int(torch.randint(0, V, (1,), generator=g))]
    for k in torch.randint(0, 3, (T - 1,), generator=g).tolist():
        x.append(int(table[x[-1], k]))
    return torch.tensor(x)


train = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.AdamW(train, lr=3e-3)
model, opt, loader = acc.prepare(model, opt, DataLoader([chain(i) for i in range(3000)], batch_size=8, shuffle=True))
print(f"trainable: {sum(p.numel() for p in train) / 1e3:.0f}k of {sum(p.numel() for p in model.parameters()) / 1e3:.0f}k", flush=True)
bar = tqdm(total=STEPS, desc="lora", mininterval=0.5, ncols=90)
step = 0
while step < STEPS:
    for x in loader:
        loss = model(input_ids=x, labels=x).loss
        acc.backward(loss)
        acc.clip_grad_norm_(train, 1.0)
        opt.step()
        opt.zero_grad()
        step += 1
        time.sleep(0.3)
        bar.set_postfix(loss=f"{loss.item():.3f}")
        bar.update()
        if step % 100 == 0:
            acc.save_state(f"state_{step}")
        if step == STEPS:
            break
acc.unwrap_model(model).save_pretrained("final")
