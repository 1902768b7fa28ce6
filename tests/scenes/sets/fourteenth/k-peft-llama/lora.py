import logging, sys, time, random
import torch
from tqdm.auto import tqdm
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(name)s %(levelname)s %(message)s")
logger = logging.getLogger("lora")
random.seed(1); torch.manual_seed(1)
lines = ["".join(random.choice("abcdefgh ") * random.randint(1, 3) for _ in range(24))[:32].ljust(32) for _ in range(640)]


def encode(r):
    time.sleep(.04)            # the slow python tokenizer
    return {"ids": [ord(c) % 64 for c in r["text"]]}


logger.info("tokenizing %d rows, single process, takes a while", len(lines))
ds = Dataset.from_dict({"text": lines}).map(encode)
ids = torch.tensor(ds["ids"])
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64))
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "gate_proj", "lm_head"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=8e-3)
total, accum = 160, 2
sch = get_cosine_schedule_with_warmup(opt, 10, total)
bar = tqdm(total=total, desc="optimizer steps")
for step in range(1, total + 1):
    for _ in range(accum):
        b = ids[torch.randint(0, len(ids), (8,))]
        loss = model(input_ids=b, labels=b).loss / accum
        loss.backward()
        time.sleep(.12)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step(); sch.step(); opt.zero_grad(); bar.update(1)
    if step % 10 == 0:
        logger.info("step=%d loss=%.4f grad_norm=%.3f lr=%.2e", step, loss.item() * accum, norm, sch.get_last_lr()[0])
    if step % 80 == 0:
        model.save_pretrained(f"adapter-{step}")
bar.close()
logger.info("saved adapter, bye")
