#!/bin/bash
# montags 02:00, siehe crontab
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p protokoll modelle
python lieferung.py eingang
echo "$(date '+%d.%m.%Y %H:%M') Wochenlauf beginnt"
python segmente.py eingang modelle 2>&1 | tee protokoll/woche.txt
if [ $? -ne 0 ]; then
  echo "Wochenlauf fehlgeschlagen"
  exit 1
fi
echo "$(date '+%d.%m.%Y %H:%M') Wochenlauf beendet"
