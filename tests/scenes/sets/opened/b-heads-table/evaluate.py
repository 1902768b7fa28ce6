import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import torch
from tqdm import tqdm
from transformers import BertConfig, BertForSequenceClassification, BertModel

torch.manual_seed(0)
TASKS = {"parity": lambda ids: ids.sum(1) % 3, "range": lambda ids: (ids.amax(1) > 280).long() + (ids.amin(1) < 12).long(),
         "first": lambda ids: ids[:, 0] % 3}


def make_checkpoints():
    cfg = BertConfig(vocab_size=300, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                     max_position_embeddings=32)
    BertModel(cfg).save_pretrained("base")
    os.makedirs("heads", exist_ok=True)
    for step in (500, 1000, 1500, 2000):
        g = torch.Generator().manual_seed(step)
        torch.save({"weight": 0.02 * torch.randn(3, 32, generator=g), "bias": torch.randn(3, generator=g)}, f"heads/step{step}.pt")


def main():
    make_checkpoints()
    model = BertForSequenceClassification.from_pretrained("base", num_labels=3).eval()
    table = []
    for name in sorted(os.listdir("heads"), key=lambda s: int(s[4:-3])):
        model.classifier.load_state_dict(torch.load(f"heads/{name}", weights_only=True))
        row = [name[:-3]]
        for task, label in TASKS.items():
            g = torch.Generator().manual_seed(7)
            right = n = 0
            for _ in tqdm(range(24), desc=f"{name[:-3]}/{task}", ncols=90):
                ids = torch.randint(5, 300, (16, 20), generator=g)
                with torch.no_grad():
                    p = model(input_ids=ids).logits.argmax(-1)
                right += (p == label(ids)).sum().item()
                n += len(ids)
                time.sleep(0.25)
            row.append(right / n)
            print(f"{name[:-3]:>9s} {task:>8s} acc {right / n:.4f} ({right}/{n})", flush=True)
        table.append(row)
    print("\n| checkpoint | " + " | ".join(TASKS) + " |\n|---|" + "---|" * len(TASKS))
    for row in table:
        print(f"| {row[0]} | " + " | ".join(f"{v:.3f}" for v in row[1:]) + " |")
    print("evaluation finished", flush=True)


if __name__ == "__main__":
    main()
