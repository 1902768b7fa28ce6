"""LoRA on a small GPT-2 for clinic letters; every 25 steps a probe looks at the activations."""
import json
import resource
import time

import psutil
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB, SEQ, BATCH = 200, 64, 16


def own_limit(extra_mb):
    """The box has other tenants: no more than so much above what we have now."""
    have = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (have + extra_mb * 2**20,) * 2)


class Probe:
    """Collects the attention outputs and reports how alike the layers are."""

    def __init__(self, model):
        self.acts = {}
        for name, mod in model.named_modules():
            if name.endswith(".attn"):
                mod.register_forward_hook(self.keep(name))

    def keep(self, name):
        def hook(mod, inp, out):
            self.acts.setdefault(name, []).append(out[0].detach().clone())
        return hook

    def alike(self):
        a = [torch.cat(v).mean((0, 1)) for v in self.acts.values()]
        return torch.cosine_similarity(a[0], a[-1], dim=0).item()


def batch(gen, table):
    x = torch.randint(0, VOCAB, (BATCH, 1), generator=gen)
    rows = [x]
    for _ in range(SEQ - 1):
        pick = torch.randint(0, 3, (BATCH, 1), generator=gen)
        rows.append(table[rows[-1].squeeze(1)].gather(1, pick))
    return torch.cat(rows, 1)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    cfg = GPT2Config(vocab_size=VOCAB, n_positions=SEQ, n_embd=128, n_layer=4, n_head=4,
                     bos_token_id=0, eos_token_id=0, attn_implementation="eager", tie_word_embeddings=False)
    model = get_peft_model(GPT2LMHeadModel(cfg), LoraConfig(r=16, lora_alpha=32, target_modules=["c_attn", "c_proj"],
                                                            modules_to_save=["lm_head"]))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    gen = torch.Generator().manual_seed(1)
    table = torch.randint(0, VOCAB, (VOCAB, 3), generator=gen)
    own_limit(900)
    proc = psutil.Process()
    for step in range(1, 401):
        x = batch(gen, table)
        loss = model(input_ids=x, labels=x).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.22)
        if step % 5 == 0:
            print(json.dumps({"step": step, "loss": round(loss.item(), 4),
                              "rss_mb": proc.memory_info().rss >> 20}), flush=True)
        if step % 25 == 0:
            probe = Probe(model)
            with torch.no_grad():
                ev = model(input_ids=x, labels=x).loss.item()
            print(json.dumps({"step": step, "eval_loss": round(ev, 4), "probe": round(probe.alike(), 4)}), flush=True)
        if step % 50 == 0:
            model.save_pretrained(f"adapter-{step}")


if __name__ == "__main__":
    main()
