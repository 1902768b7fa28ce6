import json
import logging
import pickle
import time
import urllib.error
import urllib.request

import numpy as np
from sklearn.neural_network import MLPClassifier

from dati import addestramento

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("addestra")
PORTA = int(open("eval.port").read())


def valuta(m):
    corpo = pickle.dumps(m)
    for k in range(1, 11):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORTA}/score", data=corpo, timeout=20) as r:
                return json.load(r)["acc"]
        except (urllib.error.URLError, ConnectionError, TimeoutError) as e:
            log.warning("server di valutazione non raggiungibile: %s (tentativo %d/10, riprovo tra 3 s)", e, k)
            time.sleep(3)
    log.error("valutazione saltata")
    return None


X, y = addestramento()
m = MLPClassifier((48,), learning_rate_init=1e-3, batch_size=100, random_state=3)
rng = np.random.default_rng(0)
migliore = 0.0
for ep in range(1, 231):
    j = rng.permutation(len(X))[:1500]
    m.partial_fit(X[j], y[j], classes=range(5))
    time.sleep(0.42)
    log.info("epoca %d/230 perdita %.4f", ep, m.loss_)
    if ep % 8 == 0:
        acc = valuta(m)
        if acc is None:
            continue
        if acc > migliore:
            migliore = acc
            pickle.dump(m, open("migliore.pkl", "wb"))
            log.info("candidato promosso: accuratezza %.4f", acc)
        else:
            log.info("candidato respinto: accuratezza %.4f, migliore %.4f", acc, migliore)
log.info("finito, migliore %.4f", migliore)
