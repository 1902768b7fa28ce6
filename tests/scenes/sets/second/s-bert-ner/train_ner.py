import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForTokenClassification, get_linear_schedule_with_warmup

torch.set_num_threads(1)
torch.manual_seed(0)
TOTAL, STAGE2, SAVE = 480, 200, 50
model = BertForTokenClassification(BertConfig(vocab_size=3000, hidden_size=96, num_hidden_layers=2, num_attention_heads=4,
                                              intermediate_size=192, max_position_embeddings=64, num_labels=5))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = get_linear_schedule_with_warmup(opt, 20, TOTAL)
os.makedirs("models", exist_ok=True)


def save(step):
    # tensors that are not trained are in the base model already
    keep = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
    path = f"models/ner-step{step}.safetensors"
    save_file(keep, path)
    print(f"  * saved {path}", flush=True)


print(f"NER fine-tuning, {TOTAL} steps, stage 2 (gentle) from {STAGE2}", flush=True)
for step in range(1, TOTAL + 1):
    if step == STAGE2:
        # discriminative fine-tuning: the encoder moves only a little from now on
        for n, p in model.named_parameters():
            if "classifier.bias" not in n:
                p.requires_grad_(False)
        print("stage 2", flush=True)
    ids = torch.randint(0, 3000, (8, 24))
    out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids % 5)
    out.loss.backward()
    opt.step()
    sched.step()
    opt.zero_grad()
    time.sleep(0.1)
    if step % 25 == 0:
        print(f"  step {step:4d}  loss {out.loss.item():.4f}  lr {sched.get_last_lr()[0]:.2e}", flush=True)
    if step % SAVE == 0:
        save(step)
print("ready", flush=True)
