import numpy as np

from corpus import text

for nombre, semilla, letras in (("pre", 1, 600_000), ("ajuste", 2, 200_000), ("prueba", 3, 60_000)):
    ids = np.frombuffer(text(letras, semilla).encode(), dtype=np.uint8)
    ids.tofile(f"{nombre}.bin")
    print(f"{nombre}.bin: {len(ids)} símbolos", flush=True)
