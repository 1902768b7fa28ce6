import logging
import os
import time

import numpy as np

from readings import lines

logging.basicConfig(level=logging.INFO, format="%(asctime)s producer %(levelname)s %(message)s")
os.makedirs("spool", exist_ok=True)
block, source = 0, lines()
while True:
    if len([f for f in os.listdir("spool") if f.endswith(".npy")]) > 6:
        time.sleep(0.3)
        continue
    values = [float(next(source).split(";")[2]) for _ in range(384)]
    np.save("spool/tmp.part.npy", np.asarray(values, "float32"))
    os.rename("spool/tmp.part.npy", f"spool/{block:06d}.npy")
    block += 1
    if block % 10 == 0:
        logging.info("block %d handed over", block)
