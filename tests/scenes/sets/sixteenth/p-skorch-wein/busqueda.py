"""Del cuaderno 'vinos.ipynb' (exportado con nbconvert)."""
# In[1]:
import time
import warnings

import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EarlyStopping
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
# In[2]:
X, y = load_wine(return_X_y=True)
X, y = X.astype("float32"), y.astype("int64")
print("datos:", X.shape, "clases:", np.bincount(y))


# In[3]:
class Red(nn.Module):
    def __init__(self, ocultas=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(13, ocultas), nn.ReLU(), nn.Linear(ocultas, 3))

    def forward(self, x):
        return self.net(x)


class Pausa(Callback):
    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.08)


red = NeuralNetClassifier(Red, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, max_epochs=14, batch_size=32, lr=0.01,
                          iterator_train__shuffle=True, callbacks=[Pausa(), EarlyStopping(patience=4)])
# In[4]:
malla = {"neuralnetclassifier__module__ocultas": [8, 32], "neuralnetclassifier__lr": [0.003, 0.02]}
busca = GridSearchCV(make_pipeline(StandardScaler(), red), malla, cv=2, scoring="accuracy", verbose=2, refit=True)
with warnings.catch_warnings():
    warnings.simplefilter("default")
    busca.fit(X, y)
# In[5]:
print("mejor combinación:", busca.best_params_, "exactitud: %.3f" % busca.best_score_)
