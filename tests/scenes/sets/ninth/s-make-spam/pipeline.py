import json
import random
import sys
import time

WORDS = {
    0: "meeting agenda review draft budget team invoice lunch monday notes".split(),
    1: "winner prize free click offer cash bonus urgent limited claim".split(),
}
SHARED = "the a you we please today now for your and of to in with will".split()


def corpus(path):
    r = random.Random(3)
    with open(path, "w") as f:
        for i in range(2400):
            y = r.random() < 0.4
            text = [r.choice(WORDS[y if r.random() < 0.8 else not y]) if r.random() < 0.25 else r.choice(SHARED) for _ in range(14)]
            f.write(json.dumps({"text": " ".join(text), "spam": int(y)}) + "\n")
            if i % 400 == 399:
                print(f"corpus: {i + 1} mails written")
                time.sleep(0.8)


def read(path):
    rows = [json.loads(line) for line in open(path)]
    cut = int(len(rows) * 0.8)
    return rows[:cut], rows[cut:]


def train(source, target):
    import joblib
    import numpy as np
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    rows, _ = read(source)
    vec, model = HashingVectorizer(n_features=2**12), SGDClassifier(loss="log_loss", alpha=1e-4, random_state=0)
    x, y = vec.transform(r["text"] for r in rows), np.array([r["spam"] for r in rows])
    for epoch in range(1, 11):
        for i in range(0, len(y), 160):
            model.partial_fit(x[i : i + 160], y[i : i + 160], classes=[0, 1])
            time.sleep(0.2)
        p = model.predict_proba(x)[np.arange(len(y)), y].clip(1e-9)
        print(f"epoch {epoch:2d}/10  logloss {-np.log(p).mean():.4f}  acc {model.score(x, y):.3f}")
    joblib.dump((vec, model), target)


def report(target, source, path):
    import joblib
    from sklearn.metrics import classification_report

    _, rows = read(source)
    vec, model = joblib.load(target)
    text = classification_report([r["spam"] for r in rows], model.predict(vec.transform(r["text"] for r in rows)))
    open(path, "w").write(text)
    print(text)


{"corpus": corpus, "train": train, "report": report}[sys.argv[1]](*sys.argv[2:])
