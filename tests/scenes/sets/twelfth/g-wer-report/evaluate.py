import random
import sys
import time
from datetime import datetime

import torch
from torch import nn

torch.set_num_threads(1)
SETS = [("clean", 60, 0.05, 1), ("other", 60, 0.15, 1), ("far-field", 40, 0.30, 4), ("accented", 40, 0.55, 4), ("telephone-8k", 24, 0.75, 16)]


def say(text):
    print(f"{datetime.now():%H:%M:%S} eval: {text}")


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, p in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, q in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (p != q))
    return row[-1]


def decode(model, words, noise, beam):
    with torch.no_grad():
        model(torch.randn(len(words), 40))
    time.sleep(0.08 + 0.045 * beam)
    return [random.randint(0, 99) if random.random() < noise else w for w in words if random.random() > noise / 5]


def main():
    random.seed(0)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 100)).eval()
    torch.save(model.state_dict(), "asr.pt")
    model.load_state_dict(torch.load("asr.pt"))
    say("checkpoint asr.pt loaded, evaluation only")
    table = []
    for name, count, noise, beam in SETS:
        errors = total = failed = 0
        for n in range(1, count + 1):
            words = [random.randint(0, 99) for _ in range(random.randint(4, 20))]
            found = distance(words, decode(model, words, noise, beam))
            errors, total, failed = errors + found, total + len(words), failed + (found > 0)
            if n % 10 == 0:
                say(f"{name} {n}/{count} errors={errors} WER={100 * errors / total:.1f}% failed sentences={failed}")
        table.append((name, total, errors, 100 * errors / total, failed))
    say("summary")
    print(f"{'set':<14}{'words':>7}{'errors':>8}{'WER %':>8}{'failed':>8}")
    for row in table:
        print(f"{row[0]:<14}{row[1]:>7}{row[2]:>8}{row[3]:>8.2f}{row[4]:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
