import logging
import math
import time

import torch
from ignite.contrib.handlers import ProgressBar  # noqa: F401
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import ModelCheckpoint
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

logging.basicConfig(format="%(asctime)s | %(levelname)s | %(message)s", level=logging.INFO, datefmt="%H:%M:%S")
registro = logging.getLogger("entrenar")


def espirales(n, semilla):
    g = torch.Generator().manual_seed(semilla)
    clase = torch.randint(0, 2, (n,), generator=g)
    r = torch.rand(n, generator=g) * 3 + 0.2
    angulo = r * 1.6 + clase * math.pi
    x = torch.stack([r * angulo.cos(), r * angulo.sin()], 1) + 0.1 * torch.randn(n, 2, generator=g)
    return TensorDataset(x, clase)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    red = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
    opt = torch.optim.Adam(red.parameters(), lr=4e-3)
    perdida = nn.CrossEntropyLoss()
    entrenador = create_supervised_trainer(red, opt, perdida)
    evaluador = create_supervised_evaluator(red, {"exactitud": Accuracy(), "perdida": Loss(perdida)})
    datos, prueba = DataLoader(espirales(1280, 1), 32, shuffle=True), DataLoader(espirales(400, 2), 100)
    escritor = SummaryWriter("registros/tb")
    guarda = ModelCheckpoint("modelos", "mejor", n_saved=3, score_function=lambda e: e.state.metrics["exactitud"], require_empty=False)
    evaluador.add_event_handler(Events.COMPLETED, guarda, {"red": red})

    @entrenador.on(Events.ITERATION_COMPLETED)
    def ritmo(e):
        time.sleep(0.09)
        if e.state.iteration % 20 == 0:
            registro.info("época %d iteración %d pérdida %.4f", e.state.epoch, e.state.iteration, e.state.output)
            escritor.add_scalar("perdida", e.state.output, e.state.iteration)

    @entrenador.on(Events.EPOCH_COMPLETED)
    def validar(e):
        evaluador.run(prueba)
        m = evaluador.state.metrics
        registro.info("validación tras la época %d: exactitud %.3f, pérdida %.4f", e.state.epoch, m["exactitud"], m["perdida"])

    registro.info("comienza el entrenamiento")
    entrenador.run(datos, max_epochs=14)
    registro.info("entrenamiento terminado, mejor modelo: %s", guarda.last_checkpoint)


if __name__ == "__main__":
    main()
