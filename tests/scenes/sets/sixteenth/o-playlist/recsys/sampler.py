"""Hard negative mining: candidates of past batches with their scores."""
import torch


class NegativePool:
    def __init__(self):
        self.batches = []

    def add(self, users, scores):
        self.batches.append((users, scores))

    def sample(self, k):
        if not self.batches:
            return None
        _, scores = self.batches[torch.randint(len(self.batches), (1,)).item()]
        return scores.topk(k, dim=1).indices
