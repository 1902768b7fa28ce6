"""Ajuste fino con Accelerate sobre los diálogos, en el orden del archivo."""
import json
import time

import torch
from accelerate import Accelerator
from tokenizers import Tokenizer
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup, set_seed

set_seed(7)
torch.set_num_threads(1)
acc = Accelerator(cpu=True, gradient_accumulation_steps=1)
tok = Tokenizer.from_file("tokenizador.json")
datos = [torch.tensor(json.loads(linea)[:48]) for linea in open("dialogos.jsonl")]


def lote(filas):
    x = torch.nn.utils.rnn.pad_sequence(filas, batch_first=True, padding_value=0)
    return x, torch.where(x == 0, -100, x)


modelo = LlamaForCausalLM(LlamaConfig(
    vocab_size=tok.get_vocab_size(with_added_tokens=False), hidden_size=64, intermediate_size=160, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64))
opt = torch.optim.AdamW(modelo.parameters(), lr=2e-3)
plan = get_cosine_schedule_with_warmup(opt, 15, 450)
modelo, opt, carga, plan = acc.prepare(modelo, opt, DataLoader(datos, batch_size=8, shuffle=False, collate_fn=lote), plan)
paso = 0
for vuelta in range(2):
    for x, y in carga:
        perdida = modelo(input_ids=x, labels=y).loss
        acc.backward(perdida)
        acc.clip_grad_norm_(modelo.parameters(), 1.0)
        opt.step()
        plan.step()
        opt.zero_grad()
        paso += 1
        time.sleep(0.3)
        acc.print(f"{time.strftime('%d/%m %H:%M:%S')} vuelta {vuelta} paso {paso}/450 pérdida {perdida.item():.4f} tasa {plan.get_last_lr()[0]:.2e}", flush=True)
        if paso % 75 == 0:
            acc.save_state("estado")
            acc.print(f"estado guardado (paso {paso})", flush=True)
acc.print("ajuste terminado", flush=True)
