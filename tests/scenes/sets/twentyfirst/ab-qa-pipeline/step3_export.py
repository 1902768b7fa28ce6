import logging

import torch
from safetensors.torch import save_file

from net import QA

logging.basicConfig(level=logging.INFO, format="export: %(levelname)s %(message)s")
m = QA()
m.load_state_dict(torch.load("qa.pt"))
m.eval()
try:
    import onnxruntime  # noqa: F401
    torch.onnx.export(m, torch.ones(1, 16, dtype=torch.long), "qa.onnx")
except Exception:
    logging.warning("no ONNX on this box, safetensors and TorchScript only", exc_info=True)
save_file(m.state_dict(), "qa.safetensors")
torch.jit.trace(m, torch.ones(1, 16, dtype=torch.long), check_trace=False).save("qa.ts")
logging.info("wrote qa.safetensors and qa.ts")
