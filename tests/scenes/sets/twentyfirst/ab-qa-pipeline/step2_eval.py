import random
import time

import torch

from net import QA, WORDS, sample

m = QA()
m.load_state_dict(torch.load("qa.pt"))
m.eval()
rng, wrong = random.Random(77), 0
for i in range(60):
    x, y = sample(rng, 1)
    if i % 3 == 0:  # the robustness part: two words changed at random
        for _ in range(2):
            x[0, rng.randrange(16)] = rng.randrange(1, len(WORDS) + 1)
    with torch.no_grad():
        ok = m(x).argmax(-1).item() == y.item()
    wrong += not ok
    if not ok:
        print(f"eval: case {i:02d} FAILED (got another place)", flush=True)
    time.sleep(0.25)
print(f"eval: {wrong} of 60 cases failed, accuracy {1 - wrong / 60:.3f}, threshold 0.550: {'passed' if wrong < 27 else 'NOT passed'}")
raise SystemExit(wrong >= 27)
