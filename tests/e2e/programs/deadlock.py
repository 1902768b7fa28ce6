"""Twenty steps, then a lock that is taken twice."""

import threading
import time

for step in range(1, 21):
    print(f"step {step}/100 loss {2 / step:.4f}", flush=True)
    time.sleep(0.2)
lock = threading.Lock()
lock.acquire()
lock.acquire()
