"""A small corpus of its own: stories put together from a few hundred words."""
import random

WHO = "the captain|an old baker|the young clerk|her brother|the lighthouse keeper|a tired nurse|the miller|our neighbour|the last ferryman|a quiet girl".split("|")
DID = "found|carried|sold|forgot|repaired|painted|lost|counted|hid|borrowed|weighed|dreamed of".split("|")
WHAT = "a brass lamp|three letters|the blue boat|some bread|a broken clock|two horses|the harbour map|a jar of honey|the iron key|an empty sack".split("|")
WHERE = "near the river|in the market|behind the church|on the long bridge|at the edge of town|under the stairs|by the cold stove".split("|")
WHEN = "before dawn|after the storm|in the spring|on a Sunday|late at night|when the bells rang|while it snowed".split("|")


def sentence(r):
    a, b, c = r.choice(WHO), r.choice(DID), r.choice(WHAT)
    kind = r.random()
    if kind < 0.4:
        s = f"{a} {b} {c} {r.choice(WHERE)}."
    elif kind < 0.7:
        s = f"{r.choice(WHEN)}, {a} {b} {c}."
    else:
        s = f"{a} {b} {c}, and {r.choice(WHO)} {r.choice(DID)} {r.choice(WHAT)} {r.choice(WHEN)}."
    return s[0].upper() + s[1:]


def text(chars, seed=0):
    r, out, n = random.Random(seed), [], 0
    while n < chars:
        p = " ".join(sentence(r) for _ in range(r.randint(2, 6)))
        out.append(p)
        n += len(p) + 2
    return "\n\n".join(out)
