# TCC - classificação de folhas (dados sintéticos enquanto o dataset do laboratório não chega)
import logging, time, warnings
import torch, torch.nn as nn, torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s: %(message)s", datefmt="%d/%m/%Y %H:%M:%S")
log = logging.getLogger("tcc")
ESPECIES = ["ipê", "jatobá", "aroeira", "pequi", "buriti", "cagaita"]
L.seed_everything(11, verbose=False)


def carregar(n, especies, raro=0):
    prot = torch.randn(8, 48, generator=torch.Generator().manual_seed(0))
    y = torch.randint(0, especies, (n,))
    if raro:
        y[-raro:] = 6          # folhas da última coleta, no fim da planilha
    return TensorDataset(prot[y] * .5 + torch.randn(n, 48), y)


class Modelo(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.rede = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Dropout(.2), nn.Linear(64, len(ESPECIES)))

    def training_step(self, lote, i):
        x, y = lote
        perda = F.cross_entropy(self.rede(x), y)
        time.sleep(.25)
        if i % 10 == 0:
            log.info("época %d | lote %d | perda de treino %.4f", self.current_epoch + 1, i, perda.item())
        return perda

    def validation_step(self, lote, i):
        x, y = lote
        saida = self.rede(x)
        perda = F.cross_entropy(saida, y)
        acerto = (saida.argmax(1) == y).float().mean()
        time.sleep(.15)
        if not self.trainer.sanity_checking:
            log.info("validação | lote %d | perda %.4f | acurácia %.1f%%", i, perda.item(), 100 * acerto.item())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    log.info("carregando as imagens ...")
    treino = DataLoader(carregar(4000, 6), batch_size=32, shuffle=True)
    valid = DataLoader(carregar(420, 6, raro=20), batch_size=32)
    log.info("iniciando o treinamento: %d lotes por época, 5 épocas", len(treino))
    L.Trainer(max_epochs=5, accelerator="cpu", enable_progress_bar=False, logger=False,
              enable_model_summary=False, default_root_dir="saida").fit(Modelo(), treino, valid)
    log.info("treinamento concluído")
