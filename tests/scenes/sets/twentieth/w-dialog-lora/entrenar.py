import logging
import random
import time

import torch
import yaml
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", filename="entrenamiento.log")
log = logging.getLogger("entrenar")
torch.set_num_threads(1)
torch.manual_seed(12)
random.seed(12)
FRASES = ["hola buenos dias en que puedo ayudarle", "su pedido saldra manana por la tarde", "muchas gracias por su paciencia",
          "el numero de cliente no existe", "puede repetir la direccion por favor", "la factura ya fue enviada a su correo"]
ABC = sorted(set(" ".join(FRASES)))


def lote(n, largo, frases):
    filas = []
    for _ in range(n):
        texto = " ".join(random.choices(FRASES, k=frases))[:largo]
        filas.append([ABC.index(c) for c in texto])
    return torch.tensor(filas)


def main():
    cfg = yaml.safe_load(open("config.yaml"))
    base = GPT2LMHeadModel(GPT2Config(vocab_size=len(ABC), n_positions=96, n_embd=64, n_layer=2, n_head=2,
                                      bos_token_id=0, eos_token_id=0))
    modelo = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", fan_in_fan_out=True, **cfg["lora"]))
    entrenables = [p for p in modelo.parameters() if p.requires_grad]
    log.info("parametros entrenables: %d", sum(p.numel() for p in entrenables))
    opt = torch.optim.AdamW(entrenables, weight_decay=0.0)
    paso = 0
    for n, etapa in enumerate(cfg["etapas"], 1):
        log.info("etapa %d: %d pasos, lr %.1e, %d frases por ejemplo", n, etapa["pasos"], etapa["lr"], etapa["frases"])
        for grupo in opt.param_groups:
            grupo["lr"] = etapa["lr"]
        suma = 0.0
        for _ in range(etapa["pasos"]):
            paso += 1
            ids = lote(cfg["lote"], 16 * etapa["frases"], etapa["frases"])
            perdida = modelo(input_ids=ids, labels=ids).loss
            perdida.backward()
            opt.step()
            opt.zero_grad()
            suma += perdida.item()
            time.sleep(cfg["pausa"])
            if paso % cfg["informe"] == 0:
                log.info("paso %d pérdida %.4f lr %.1e", paso, suma / cfg["informe"], etapa["lr"])
                suma = 0.0
    modelo.save_pretrained("adaptador")
    log.info("adaptador guardado")


main()
