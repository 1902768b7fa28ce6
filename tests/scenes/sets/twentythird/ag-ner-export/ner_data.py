import torch

LABELS = {"O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"}
V, T = 180, 16


def batch(n, g):
    """Token ids and tag names' numbers: a token's tag follows from its id and from the one before."""
    x = torch.randint(0, V, (n, T), generator=g)
    begin = x % 20
    y = torch.zeros_like(x)
    for k in range(4):
        y[begin == k] = 1 + 2 * k
    for t in range(1, T):
        inside = (x[:, t] % 20 == 10) & (y[:, t - 1] > 0)
        y[inside, t] = (y[inside, t - 1] - 1) // 2 * 2 + 2
    return x, y


TAGS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]


def f1(pred, gold):
    """Micro F1 over tags other than O; lists of tag names."""
    tp = sum(p == g != "O" for p, g in zip(pred, gold))
    n_pred, n_gold = sum(p != "O" for p in pred), sum(g != "O" for g in gold)
    return 2 * tp / max(n_pred + n_gold, 1)
