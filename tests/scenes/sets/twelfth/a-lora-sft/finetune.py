import json, sys, time
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

cfg = json.load(open(sys.argv[1]))
torch.manual_seed(cfg["seed"])
torch.set_num_threads(1)
base = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=96, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0))
model = get_peft_model(base, LoraConfig(r=cfg["r"], lora_alpha=2 * cfg["r"], target_modules=["c_attn", "c_proj"],
                                        fan_in_fan_out=True, task_type="CAUSAL_LM"))
model.print_trainable_parameters()
params = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.AdamW(params, lr=cfg["lr"])
sched = get_cosine_schedule_with_warmup(opt, 20, cfg["steps"])
text = (("### Instruction:\nname the capital of %s\n### Response:\n%s\n" * 1) % ("norway", "oslo") +
        "### Instruction:\nadd 2 and 3\n### Response:\n5\n" + "### Instruction:\ntranslate cat\n### Response:\nkatze\n") * 60
data = torch.tensor(list(text.encode()))
t0, ema = time.time(), None
for step in range(1, cfg["steps"] + 1):
    i = torch.randint(0, len(data) - 64, (6,))
    x = torch.stack([data[j:j + 64] for j in i])
    loss = model(input_ids=x, labels=x).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step(), sched.step(), opt.zero_grad()
    time.sleep(0.22)
    ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
    if step % 10 == 0:
        left = (time.time() - t0) / step * (cfg["steps"] - step)
        print(f"[{time.strftime('%H:%M:%S')}] {step:5d}/{cfg['steps']} | loss {ema:.3f} | lr {sched.get_last_lr()[0]:.2e} | eta {left/60:.1f} min", flush=True)
    if step % 100 == 0:
        model.save_pretrained(f"adapters/step{step}")
        print(f"[{time.strftime('%H:%M:%S')}] adapter saved to adapters/step{step}", flush=True)
