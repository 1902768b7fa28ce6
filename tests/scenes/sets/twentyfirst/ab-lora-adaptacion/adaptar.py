"""Adapta un modelo pequeño al dominio médico: LoRA en la atención, y embeddings entrenables para el vocabulario nuevo."""
import os
import random
import signal
import sys
import time

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

PASOS, GUARDAR, VOCAB = 320, 30, 400
torch.manual_seed(42)
base = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_embd=64, n_layer=2, n_head=4, n_positions=64))
ultimo = open("salida/ultimo").read().strip() if os.path.exists("salida/ultimo") else None
if ultimo:
    modelo = PeftModel.from_pretrained(base, f"salida/{ultimo}", is_trainable=True)
    paso = int(ultimo.split("-")[1])
    print(f"[info] reanudando desde salida/{ultimo}, paso {paso}", flush=True)
else:
    modelo = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
    paso = 0
    print("[info] inicio nuevo", flush=True)
modelo.get_input_embeddings().weight.requires_grad_(True)  # hay palabras nuevas
params = [p for p in modelo.parameters() if p.requires_grad]
opt = torch.optim.AdamW(params, lr=1e-2)
print(f"[info] parámetros entrenables: {sum(p.numel() for p in params)}", flush=True)
open("entrenador.pid", "w").write(str(os.getpid()))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def lote(k):
    rng = random.Random(k)
    filas = []
    for _ in range(8):
        t = rng.randrange(VOCAB)
        fila = [t]
        for _ in range(31):
            t = (t * 17 + 31) % VOCAB if rng.random() < 0.85 else rng.randrange(VOCAB)
            fila.append(t)
        filas.append(fila)
    return torch.tensor(filas)


while paso < PASOS:
    x = lote(paso)
    for g in opt.param_groups:
        g["lr"] = 1e-2 * 0.5 ** (paso / 25) + 2e-5
    perdida = modelo(input_ids=x, labels=x).loss
    opt.zero_grad()
    perdida.backward()
    opt.step()
    paso += 1
    time.sleep(0.35)
    if paso % 4 == 0:
        print(f"paso {paso:4d}/{PASOS}  pérdida {perdida.item():.4f}  lr {opt.param_groups[0]['lr']:.2e}", flush=True)
    if paso % GUARDAR == 0:
        modelo.save_pretrained(f"salida/paso-{paso}")
        open("salida/ultimo", "w").write(f"paso-{paso}")
        print(f"[info] adaptador guardado en salida/paso-{paso}", flush=True)
print("[info] entrenamiento terminado", flush=True)
