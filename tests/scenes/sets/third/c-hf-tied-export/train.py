import time
from pathlib import Path

from safetensors.torch import save_file
from transformers import Trainer, TrainingArguments, set_seed

from tied_model import Dialogs, build_model

set_seed(3)
model = build_model()
args = TrainingArguments(
    output_dir="work", max_steps=90, per_device_train_batch_size=8, learning_rate=2e-3,
    logging_steps=10, save_strategy="no", report_to="none", use_cpu=True, seed=3)
trainer = Trainer(model=model, args=args, train_dataset=Dialogs(3000, seed=5))
t0 = time.time()
trainer.train()
print(f"training took {time.time() - t0:.0f} s, exporting to export/model.safetensors", flush=True)

Path("export").mkdir(exist_ok=True)
state = {k: v.detach().cpu() for k, v in trainer.model.state_dict().items()}
save_file(state, "export/model.safetensors", metadata={"format": "pt"})
print("export done", flush=True)
