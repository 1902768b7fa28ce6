import random
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

INTENTS = {"play": ["play", "put on", "start"], "weather": ["is it raining", "how warm is it", "forecast"],
           "alarm": ["wake me", "set an alarm", "alarm"], "error": ["that was wrong", "cancel", "undo"]}
REST = "please now in the kitchen tomorrow at seven for me and my sister again slowly today".split()


def make(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randrange(4)
        words = [rng.choice(list(INTENTS.values())[k if rng.random() > 0.04 else rng.randrange(4)])]
        rows.append((" ".join(words + rng.sample(REST, rng.randint(2, 6))), k))
    return rows


def tokenizer(rows):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator([r for r, _ in rows], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"]))
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]")
