import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(1)
LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                             max_position_embeddings=40)).save_pretrained("models/base-v3")
