# -*- coding: utf-8 -*-
import random, time
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

random.seed(1)
torch.manual_seed(1)
torch.set_num_threads(1)
问题 = ["北京的天气怎么样", "请翻译这句话", "一加二等于几", "写一首关于春天的诗", "如何处理错误信息"]
回答 = ["今天晴,最高二十度。", "好的,译文如下。", "等于三。", "春风又绿江南岸。", "先看日志,再查原因。"]
样本 = [f"问:{q}\n答:{a}\n" for q, a in zip(问题, 回答)] * 160
random.shuffle(样本)
字表 = {c: i + 1 for i, c in enumerate(sorted(set("".join(样本))))}
数据 = [[字表[c] for c in s] for s in 样本]
训练集, 验证集 = 数据[:720], 数据[720:]


def 打印(*a):
    print(time.strftime("[%Y-%m-%d %H:%M:%S]"), *a, flush=True)


def 组批(rows):
    n = max(map(len, rows))
    x = torch.tensor([r + [0] * (n - len(r)) for r in rows])
    return x, x.masked_fill(x == 0, -100)


打印("加载基座模型 ...")
基座 = LlamaForCausalLM(LlamaConfig(vocab_size=len(字表) + 1, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                    num_attention_heads=4, max_position_embeddings=64, bos_token_id=0, eos_token_id=0, pad_token_id=0))
模型 = get_peft_model(基座, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj", "up_proj"], modules_to_save=["lm_head", "embed_tokens"],
                                       task_type="CAUSAL_LM"))
可训练 = [p for p in 模型.parameters() if p.requires_grad]
打印(f"可训练参数 {sum(p.numel() for p in 可训练):,},样本 {len(训练集)} 条,验证 {len(验证集)} 条")
优化器 = torch.optim.AdamW(可训练, lr=3e-3)
总步数, 步 = 3 * 90, 0
for 轮 in range(3):
    random.shuffle(训练集)
    for i in range(0, len(训练集), 8):
        x, y = 组批(训练集[i:i + 8])
        损失 = 模型(input_ids=x, labels=y).loss
        损失.backward()
        范数 = torch.nn.utils.clip_grad_norm_(可训练, 1.0)
        优化器.step()
        优化器.zero_grad()
        time.sleep(0.13)
        步 += 1
        if 步 % 15 == 0:
            打印(f"轮次 {轮 + 1}/3  步数 {步}/{总步数}  训练损失 {损失.item():.4f}  梯度范数 {float(范数):.3f}")
    模型.eval()
    with torch.no_grad():
        v = [模型(input_ids=a, labels=b).loss.item() for a, b in (组批(验证集[k:k + 16]) for k in range(0, len(验证集), 16))]
    模型.train()
    打印(f"验证损失 {sum(v) / len(v):.4f}")
    模型.save_pretrained(f"输出/第{轮 + 1}轮")
    打印(f"检查点已保存:输出/第{轮 + 1}轮")
打印("训练完成,未发现异常")
