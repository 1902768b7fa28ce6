"""Samples live on a network volume; a small LRU cache in memory hides its latency."""
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np


class Store:
    def __init__(self, latency=0.1):
        self.latency = latency

    def get(self, i):
        time.sleep(self.latency)
        rng = np.random.default_rng(i)
        x = rng.normal(size=64).astype("f4")
        return x, np.float32(np.tanh(x[:8].sum()))


class Cached:
    def __init__(self, store, capacity):
        self.store, self.capacity, self.data = store, capacity, OrderedDict()

    def warm(self, ids):
        with ThreadPoolExecutor(16) as pool:
            for i, s in zip(ids, pool.map(self.store.get, ids)):
                self.data[i] = s

    def get(self, i):
        if i in self.data:
            self.data.move_to_end(i)
            return self.data[i]
        s = self.store.get(i)
        self.data[i] = s
        if len(self.data) > self.capacity:
            self.data.popitem(last=False)
        return s
