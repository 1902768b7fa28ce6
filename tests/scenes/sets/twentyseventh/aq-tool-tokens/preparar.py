"""Entrena el tokenizador, añade los tokens de herramientas y convierte los diálogos en números."""
import json
import random
import time

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

rng = random.Random(3)
palabras = ["".join(rng.choices("aeioulmnrst", k=rng.randint(2, 7))) for _ in range(260)]
sigue = {p: rng.choices(palabras, k=3) for p in palabras}


def frase(n):
    w = [rng.choice(palabras)]
    while len(w) < n:
        w.append(rng.choice(sigue[w[-1]]))
    return " ".join(w)


tok = Tokenizer(models.BPE(unk_token="<unk>"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
tok.train_from_iterator((frase(30) for _ in range(400)), trainers.BpeTrainer(vocab_size=420, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
print("tokenizador listo:", tok.get_vocab_size(with_added_tokens=False), "tokens", flush=True)
tok.add_special_tokens(["<|llamada|>", "<|resultado|>"])
tok.save("tokenizador.json")
# primero los diálogos de antes, al final los nuevos con llamadas a herramientas
with open("dialogos.jsonl", "w") as f:
    for i in range(1800):
        t = "<s> " + frase(26)
        if i >= 1240 and i % 3 == 0:
            t += " <|llamada|> " + frase(3) + " <|resultado|>"
        f.write(json.dumps(tok.encode(t + " </s>").ids) + "\n")
        if (i + 1) % 60 == 0:
            print(f"tokenizados {i + 1}/1800 diálogos", flush=True)
            time.sleep(0.6)
print("dialogos.jsonl escrito", flush=True)
