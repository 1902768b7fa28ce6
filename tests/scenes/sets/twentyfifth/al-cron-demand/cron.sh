#!/bin/bash
# reentrena la demanda cada noche (aqui: cada vuelta)
while [ "$(cat dias.txt)" -lt 400 ]; do
    bash nocturno.sh
    echo $(( $(cat dias.txt) + 6 )) > dias.txt
    sleep 4
done
