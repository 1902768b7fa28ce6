#!/bin/bash
# keeps the GAN running: the driver of this box falls over now and then
until python -u train.py >> train.log 2>&1; do
    echo "$(date +%T) train.py s'est arrêté (code $?), on relance dans 4 s"
    sleep 4
done
echo "$(date +%T) entraînement terminé"
