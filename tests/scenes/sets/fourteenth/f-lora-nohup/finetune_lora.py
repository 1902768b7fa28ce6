import random, time, warnings
import torch
from tqdm import tqdm
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup

try:
    import flash_attn  # noqa
    attn = "flash_attention_2"
except ImportError as e:
    print(f"[!] {e} -> using sdpa instead")
    attn = "sdpa"
device = "cuda" if torch.cuda.is_available() else "cpu"
print("device:", device)
torch.manual_seed(0); random.seed(0)

model = LlamaForCausalLM(LlamaConfig(vocab_size=200, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, max_position_embeddings=64, attn_implementation=attn))
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj", "up_proj", "lm_head"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()

motifs = [[random.randrange(200) for _ in range(8)] for _ in range(5)]
def sample():
    s = []
    while len(s) < 32:
        s += random.choice(motifs)
    return s[:32]
data = [sample() for _ in range(480)]
EPOCHS, BS, ACC = 4, 4, 2
steps = EPOCHS * len(data) // BS // ACC
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=8e-3)
sched = get_cosine_schedule_with_warmup(opt, 10, steps)
step = 0
with tqdm(total=steps) as bar:
    for epoch in range(EPOCHS):
        random.shuffle(data)
        for i in range(0, len(data), BS):
            ids = torch.tensor(data[i:i + BS], device=device)
            loss = model(input_ids=ids, labels=ids).loss
            (loss / ACC).backward()
            time.sleep(0.1)
            if (i // BS + 1) % ACC == 0:
                gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step(); sched.step(); opt.zero_grad()
                step += 1
                bar.update(1)
                bar.set_description(f"ep {epoch} loss {loss.item():.3f} gn {gn:.2f} lr {sched.get_last_lr()[0]:.1e}")
        model.save_pretrained(f"lora-out/epoch-{epoch}")
        tqdm.write(f"saved lora-out/epoch-{epoch}")
print("finished, run merge.py next")
