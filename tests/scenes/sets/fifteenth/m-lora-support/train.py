import argparse, logging, random, time
import torch, yaml
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, TrainerCallback, set_seed
from peft import LoraConfig, get_peft_model

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
log = logging.getLogger("support_lora")

OPEN = ["my invoice is wrong", "the app does not start", "how do i reset my password", "please cancel the order"]
REPLY = ["sorry about that, we will look at it", "please restart it and try again", "use the link on the login page"]


class Tickets(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.rows = [f"user: {rnd.choice(OPEN)}\nagent: {rnd.choice(REPLY)}\n"[:72].ljust(72) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = torch.tensor([min(max(ord(c) - 31, 0), 95) for c in self.rows[i]])
        return {"input_ids": ids, "labels": ids.clone()}


class Lines(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in (logs or {}):
            log.info("step %d/%d | loss %.4f | lr %.3e | grad %.2f", state.global_step, state.max_steps,
                     float(logs["loss"]), float(logs["learning_rate"]), float(logs.get("grad_norm", 0)))


class SlowTrainer(Trainer):
    def training_step(self, *a, **kw):
        time.sleep(0.35)
        return super().training_step(*a, **kw)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    cfg = yaml.safe_load(open(ap.parse_args().config))
    set_seed(11)
    b = cfg["base"]
    model = LlamaForCausalLM(LlamaConfig(vocab_size=b["vocab"], hidden_size=b["hidden"], intermediate_size=96,
                                         num_hidden_layers=b["layers"], num_attention_heads=b["heads"],
                                         max_position_embeddings=96))
    model = get_peft_model(model, LoraConfig(r=cfg["lora"]["r"], lora_alpha=cfg["lora"]["alpha"],
                                             target_modules=["q_proj", "v_proj", "down_proj"],
                                             modules_to_save=["lm_head"], task_type="CAUSAL_LM"))
    n, total = model.get_nb_trainable_parameters()
    log.info("run %s: %d of %d parameters are trained", cfg["run"], n, total)
    data = Tickets(600, 3)
    for ph in cfg["phases"]:
        log.info("phase %s: %d steps, lr %g", ph["name"], ph["steps"], ph["lr"])
        args = TrainingArguments(output_dir=f"out/{ph['name']}", per_device_train_batch_size=4, max_steps=ph["steps"],
                                 learning_rate=ph["lr"], warmup_steps=ph["warmup"], max_grad_norm=cfg["clip"],
                                 logging_steps=cfg["log_every"], save_strategy="no", report_to="none",
                                 disable_tqdm=True, use_cpu=True, lr_scheduler_type="constant_with_warmup")
        out = SlowTrainer(model=model, args=args, train_dataset=data, callbacks=[Lines()]).train()
        log.info("phase %s done: %d steps, mean loss %.4f", ph["name"], out.global_step, out.training_loss)
    model.save_pretrained("out/adapter")


if __name__ == "__main__":
    main()
