"""Train a small decoder in float16 autocast with dynamic loss scaling."""
import time

import torch
from transformers import OPTConfig, OPTForCausalLM

STEPS, BATCH, SEQ = 420, 8, 24
torch.manual_seed(12)
model = OPTForCausalLM(OPTConfig(vocab_size=160, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128,
                                 max_position_embeddings=32, word_embed_proj_dim=64, bos_token_id=0, eos_token_id=0, dropout=0.0))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=60)
gen = torch.Generator().manual_seed(4)
skipped, t0 = 0, time.time()
print(f"fp16 training, initial loss scale {scaler.get_scale():.0f}", flush=True)
for step in range(1, STEPS + 1):
    start = torch.randint(4, 160, (BATCH, 1), generator=gen)
    stride = torch.randint(1, 4, (BATCH, 1), generator=gen)
    x = 4 + (start + stride * torch.arange(SEQ)) % 156
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(input_ids=x, labels=x).loss
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
    if scaler.get_scale() < before:
        skipped += 1
        print(f"Gradient overflow (norm={norm.item():.3g}). Skipping step {step}, reducing loss scale to {scaler.get_scale():.0f}", flush=True)
    if step % 15 == 0:
        print(f"[{step:>4}/{STEPS}] loss={loss.item():.4f} grad_norm={norm.item():.3f} scale={scaler.get_scale():.0f} "
              f"skipped={skipped} {step * BATCH * SEQ / (time.time() - t0):.0f} tok/s", flush=True)
    time.sleep(0.11)
torch.save(model.state_dict(), "caption.pt")
print(f"done, {skipped} of {STEPS} steps skipped", flush=True)
