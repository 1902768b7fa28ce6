#!/bin/bash
set -e
ts() { date '+%H:%M:%S'; }
python registry.py & REG=$!
trap 'kill $REG' EXIT
echo "$(ts) etap 1/4: pobranie danych"
python - <<'P'
import numpy as np
rng = np.random.default_rng(3)
X = rng.normal(size=(3600, 20))
p = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] * X[:, 2])))
np.savez("dane.npz", X=X, y=(rng.random(3600) < p).astype(int))
print("wierszy: 3600")
P
sleep 3
echo "$(ts) etap 2/4: trening"
python trening.py
echo "$(ts) etap 3/4: eksport"
gzip -k -f model.txt && ls -l model.txt.gz
echo "$(ts) etap 4/4: wysyłka do rejestru"
for proba in 1 2 3 4 5 6; do
  kod=$(curl -s -o /dev/null -w '%{http_code}' -T model.txt.gz http://127.0.0.1:$(cat registry.port)/model.txt.gz || true)
  if [ "$kod" = 201 ]; then echo "$(ts) wysłano (HTTP $kod)"; break; fi
  echo "$(ts) OSTRZEŻENIE: rejestr odpowiada HTTP $kod, próba $proba/6, ponowienie za 5 s"
  sleep 5
done
[ "$kod" = 201 ]
echo "$(ts) gotowe"
