import json, logging, time
import torch
from torch import nn
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("embed")


def read_pairs(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def build_tokenizer(rows):
    tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator((r["query"] for r in rows),
                            trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"]))
    return PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]")


class Encoder(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=vocab, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                         intermediate_size=96), add_pooling_layer=False)

    def forward(self, batch):
        h = self.bert(**batch).last_hidden_state
        m = batch["attention_mask"].unsqueeze(-1).float()
        return nn.functional.normalize((h * m).sum(1) / m.sum(1), dim=-1)


def main():
    rows = read_pairs("pairs.jsonl")
    log.info("질의-응답 쌍 %d개를 읽었습니다", len(rows))
    tok = build_tokenizer(rows)
    model = Encoder(len(tok))
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    bs, step, total = 8, 0, len(rows) // 8 * 2
    for epoch in (1, 2):
        log.info("에폭 %d 시작", epoch)
        for i in range(0, len(rows) - bs + 1, bs):
            part = rows[i:i + bs]
            enc = [tok([r[k] for r in part], padding=True, return_tensors="pt", return_token_type_ids=False)
                   for k in ("query", "answer")]
            q, a = model(enc[0]), model(enc[1])
            loss = nn.functional.cross_entropy(q @ a.T / 0.05, torch.arange(len(part)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.28)
            if step % 5 == 0:
                log.info("학습 중 step=%d/%d 손실=%.4f", step, total, loss.item())
        torch.save(model.state_dict(), f"encoder-e{epoch}.pt")
        log.info("체크포인트 저장: encoder-e%d.pt", epoch)
    log.info("학습 완료")


if __name__ == "__main__":
    main()
