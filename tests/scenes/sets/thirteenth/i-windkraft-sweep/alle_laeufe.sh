#!/usr/bin/env bash
# Parameterstudie: alle Tiefen x Lernraten nacheinander, Protokolle unter protokolle/
mkdir -p protokolle
export OMP_NUM_THREADS=1
nr=0
for tiefe in 2 3; do
  for lr in 0.003 0.001 0.0003; do
    nr=$((nr + 1))
    echo "$(date '+%d.%m.%Y %H:%M:%S') Lauf $nr von 6: Tiefe $tiefe, Lernrate $lr"
    if python -u lauf.py --daten daten --tiefe $tiefe --lernrate $lr --epochen 12 2>&1 | tee protokolle/lauf_$nr.log; [ ${PIPESTATUS[0]} -eq 0 ]; then
      echo "Lauf $nr beendet"
    else
      echo "Lauf $nr abgebrochen, weiter mit dem nächsten"
    fi
    sleep 2
  done
done
echo "$(date '+%d.%m.%Y %H:%M:%S') Parameterstudie beendet, Ergebnisse in ergebnisse.csv"
