"""Write a tiny encoder to base/ (stands in for the company's encoder)."""
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from catalog import VOCAB

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + VOCAB
t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                        mask_token="[MASK]", model_max_length=32).save_pretrained("base")
BertModel(BertConfig(vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=128, max_position_embeddings=40)).save_pretrained("base")
