import os, random, time
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel
torch.set_num_threads(1); torch.manual_seed(0); random.seed(0)
T = ["kernel: Out of memory: Killed process {} (python)\n", "trainer: RuntimeError: CUDA error: device-side assert at {}\n", "rsyslogd: No space left on device, {} messages lost\n", "sshd: Connection closed by 10.0.0.{}\n", "cron: job {} finished ok\n"]
text = "".join(random.choice(T).format(random.randint(1, 99)) for _ in range(600))
V = sorted(set(text)); ix = {c: i for i, c in enumerate(V)}; D = torch.tensor([ix[c] for c in text])
base = GPT2LMHeadModel(GPT2Config(vocab_size=len(V), n_positions=96, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
m = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules=["c_attn", "c_fc"], modules_to_save=["wte", "lm_head", "wpe"], task_type="CAUSAL_LM", fan_in_fan_out=True))
m.print_trainable_parameters()
o = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], 8e-3)
def sample(start, n=60):
    x = torch.tensor([[ix[c] for c in start]])
    with torch.no_grad():
        for _ in range(n):
            q = torch.softmax(m(input_ids=x).logits[0, -1] / .6, 0); x = torch.cat([x, torch.multinomial(q, 1)[None]], 1)
    return "".join(V[i] for i in x[0])
for s in range(1, 181):
    b = torch.stack([D[i:i + 64] for i in torch.randint(0, len(D) - 64, (8,))])
    l = m(input_ids=b, labels=b).loss; l.backward(); torch.nn.utils.clip_grad_norm_(m.parameters(), 1.); o.step(); o.zero_grad(); time.sleep(.08)
    if s % 6 == 0: print(f"step {s}/180 loss {l.item():.3f} ppl {l.exp().item():.2f}", flush=True)
    if s % 45 == 0:
        m.eval(); print(f"--- samples at step {s} ---")
        for p in ("kernel: Out of", "trainer: Runt", "rsyslogd: No s"): print(sample(p), flush=True)
        print("---", flush=True); m.train()
m.save_pretrained("adapter"); print("adapter saved, done")
