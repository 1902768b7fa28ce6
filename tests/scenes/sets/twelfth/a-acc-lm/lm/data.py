import random
import torch

RULES = {"S": ["N V N", "N V N P N"], "N": ["the dog", "a cat", "my uncle", "the bank", "an engineer"],
         "V": ["sees", "pays", "calls", "forgets"], "P": ["near", "without", "behind"]}


def sentence(rng):
    return " ".join(rng.choice(RULES[s]) for s in rng.choice(RULES["S"]).split()) + ". "


def corpus(seed, n=4000):
    rng = random.Random(seed)
    return torch.tensor(list("".join(sentence(rng) for _ in range(n)).encode()))


def sample(data, batch, seq, gen):
    i = torch.randint(0, len(data) - seq - 1, (batch,), generator=gen)
    return torch.stack([data[j:j + seq + 1] for j in i])
