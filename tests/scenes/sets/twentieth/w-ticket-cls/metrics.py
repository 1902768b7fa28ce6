import numpy as np


def scores(pred):
    guess = np.argmax(pred.predictions, axis=-1)
    gold = pred.label_ids
    f1s = []
    for c in np.unique(gold):
        tp = np.sum((guess == c) & (gold == c))
        f1s.append(2 * tp / max(1, np.sum(guess == c) + np.sum(gold == c)))
    return {"accuracy": float((guess == gold).mean()), "macro_f1": float(np.mean(f1s))}
