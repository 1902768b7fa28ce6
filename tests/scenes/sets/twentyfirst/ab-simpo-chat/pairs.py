"""Preference pairs for the support-chat policy: (prompt, chosen, rejected) as token ids."""
import random

NOUNS = "invoice router parcel account password refund order laptop ticket contract meter charger".split()
VERBS = "broke failed arrived stopped vanished expired overheated doubled froze returned".split()
GOOD = "sorry to hear that . please send us the {n} number and we will fix it today .".split()
BAD = "{n} {n} not our fault . read the manual .".split()
FILL = "and then the {n} {v} again after i called you".split()


def vocab():
    words = {"<pad>", "<sep>", "<eos>"}
    for t in (GOOD, BAD, FILL):
        words |= {w for w in t if "{" not in w}
    words |= set(NOUNS) | set(VERBS) | {"my", "since", "monday"}
    return {w: i for i, w in enumerate(sorted(words))}


def build(n=2400, seed=3):
    rng, v = random.Random(seed), vocab()
    enc = lambda ws: [v[w] for w in ws]
    rows = []
    for _ in range(n):
        noun, verb = rng.choice(NOUNS), rng.choice(VERBS)
        prompt = ["my", noun, verb, "since", "monday"]
        for _ in range(int(rng.expovariate(0.14))):
            m, w = rng.choice(NOUNS), rng.choice(VERBS)
            prompt += [x.format(n=m, v=w) for x in FILL]
        k = rng.randint(8, len(GOOD))
        good = [x.format(n=noun) for x in GOOD[:k]] + ["<eos>"]
        bad = [x.format(n=noun) for x in BAD[: rng.randint(4, len(BAD))]] + ["<eos>"]
        rows.append((enc(prompt + ["<sep>"]), enc(good), enc(bad)))
    # short dialogues first, the long threads later: less padding and an easy curriculum
    rows.sort(key=lambda r: len(r[0]) + rng.random())
    return rows, v
