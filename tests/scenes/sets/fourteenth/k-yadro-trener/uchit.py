import csv, random, os
import torch
from yadro import журнал, Загрузчик, Тренер

torch.manual_seed(5); random.seed(5)
СТРОК, ПАКЕТ = 6400, 16
if not os.path.exists("отзывы.csv"):
    with open("отзывы.csv", "w", newline="") as f:
        w = csv.writer(f)
        for i in range(СТРОК):
            y = random.randrange(4)
            слова = [random.randrange(50) + 50 * y * (random.random() < .5) for _ in range(12)]
            if i == 3107:
                слова[4] = ""
            w.writerow([y, *слова])


def пакеты():
    xs, ys = [], []
    for строка in csv.reader(open("отзывы.csv")):
        ys.append(int(строка[0])); xs.append([int(s) for s in строка[1:]])
        if len(xs) == ПАКЕТ:
            yield torch.tensor(xs), torch.tensor(ys)
            xs, ys = [], []


модель = torch.nn.Sequential(torch.nn.EmbeddingBag(256, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
журнал(f"параметров: {sum(p.numel() for p in модель.parameters())}, строк: {СТРОК}")
тренер = Тренер(модель, torch.optim.Adam(модель.parameters(), 5e-3), torch.nn.CrossEntropyLoss())
тренер.учить(Загрузчик(пакеты()), СТРОК // ПАКЕТ)
torch.save(модель.state_dict(), "модель.pt")
