import random

COLORS = "red blue green black white grey yellow brown".split()
THINGS = "shirt lamp chair phone table kettle bottle backpack jacket monitor keyboard mirror".split()
EXTRA = [f"{a}{n}" for a in ("mk", "xl", "eco", "pro") for n in range(30)]
VOCAB = COLORS + THINGS + EXTRA + "i need a for my new looking buy cheap best with".split()


def pairs(n, seed):
    rnd = random.Random(seed)
    for _ in range(n):
        c, t, e = rnd.choice(COLORS), rnd.choice(THINGS), rnd.choice(EXTRA)
        q = rnd.choice([f"i need a {c} {t} {e}", f"looking for {e} {t} {c}", f"buy {t} {c} {e} cheap"])
        yield {"anchor": q, "positive": f"{c} {t} {e} {rnd.choice(EXTRA)}"}
