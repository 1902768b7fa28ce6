"""Streaming next-purchase model with a cache of user histories."""
import logging, sys, time
import numpy as np
from sklearn.linear_model import SGDClassifier
logging.basicConfig(stream=sys.stdout, format="%(levelname).1s%(asctime)s %(name)s] %(message)s", datefmt="%m%d %H:%M:%S", level=logging.INFO)
log = logging.getLogger("online")
rng = np.random.default_rng(1)
D = 256; w = rng.normal(0, .4, D)

class HistoryCache:
    """Keeps the encoded histories so that users who return are not encoded again."""
    def __init__(self): self.store = {}; self.hits = 0
    def get(self, window):
        if window in self.store: self.hits += 1
        else: self.store[window] = self.encode(window)
        return self.store[window]
    def encode(self, window):
        return np.tanh(rng.normal(0, 1, (4096, D)))

cache = HistoryCache(); clf = SGDClassifier(loss="log_loss", alpha=1e-5)
log.info("stream opened, dim=%d", D)
for window in range(1, 2001):
    x = cache.get(window)
    y = (x @ w + rng.normal(0, 1, len(x)) > 0).astype(int)
    acc = clf.score(x[:512], y[:512]) if window > 1 else .5
    clf.partial_fit(x[512:], y[512:], classes=[0, 1])
    if window % 5 == 0:
        log.info("window %d  prequential_acc=%.4f  cached=%d", window, acc, len(cache.store))
    time.sleep(.32)
