"""Baixa os cantos de aves do arquivo, corta em trechos e grava os espectrogramas."""
import io
import os
import pathlib
import sys
import time
import wave

import numpy as np
from tqdm import tqdm

PACE = float(os.environ.get("PACE", 0.34))
r = np.random.default_rng(9)
saida = pathlib.Path("espectros")
saida.mkdir(exist_ok=True)


def arquivo_remoto(i):
    """O arquivo: às vezes responde 503, às vezes um arquivo vem cortado."""
    if r.random() < 0.06:
        raise ConnectionError("HTTP 503 Service Unavailable")
    especie = i % 3
    t = np.arange(4000) / 8000
    som = np.sin(2 * np.pi * (500 + 400 * especie + 200 * np.sin(2 * np.pi * (2 + especie) * t)) * t) * 0.4 + r.normal(0, 0.15, 4000)
    b = io.BytesIO()
    with wave.open(b, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes((som.clip(-1, 1) * 32000).astype("<i2").tobytes())
    dados = b.getvalue()
    return (dados[:20] if r.random() < 0.03 else dados), especie


ruins = 0
barra = tqdm(range(180), desc="baixando", file=sys.stderr, mininterval=0.5)
for i in barra:
    time.sleep(PACE)
    for tentativa in range(1, 6):
        try:
            dados, especie = arquivo_remoto(i)
            break
        except ConnectionError as erro:
            print(f"AVISO canto {i:04d}: {erro}, tentativa {tentativa} de 5", flush=True)
            time.sleep(0.5 * tentativa)
    try:
        with wave.open(io.BytesIO(dados)) as w:
            som = np.frombuffer(w.readframes(4000), "<i2") / 32768
    except (EOFError, wave.Error) as erro:
        ruins += 1
        print(f"ERRO canto {i:04d} ilegível ({type(erro).__name__}), pulado ({ruins} até agora, limite 20)", flush=True)
        if ruins > 20:
            raise SystemExit("arquivos ilegíveis demais")
        continue
    quadros = som[:3968].reshape(31, 128) * np.hanning(128)
    np.save(saida / f"{i:04d}_{especie}.npy", np.log1p(np.abs(np.fft.rfft(quadros))).astype("float32"))
print(f"pronto: {180 - ruins} espectrogramas, {ruins} pulados", flush=True)
