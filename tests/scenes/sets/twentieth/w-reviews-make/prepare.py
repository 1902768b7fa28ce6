import json
import random
import sys

rng = random.Random(40)
good = "great tasty lovely fast friendly warm perfect fresh".split()
bad = "cold late rude stale broken dirty slow bland".split()
filler = "the place food waiter table we had it was and then a menu desk".split()
with open(sys.argv[1], "w") as f:
    for i in range(3000):
        y = rng.randrange(2)
        words = rng.choices(filler, k=10) + rng.choices(good if y else bad, k=3)
        rng.shuffle(words)
        # the newer export marks names of persons
        if i > 1000 and rng.random() < 0.02:
            words.insert(3, "<person>")
        f.write(json.dumps({"text": " ".join(words), "label": y}) + "\n")
print("wrote", sys.argv[1])
