#!/bin/bash
python -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])" > eval.port
( trap 'kill $(cat eval.pid) 2>/dev/null; exit 0' USR1
  while true; do python eval_server.py & wait $!; echo "[eval] uscito con $?, riavvio tra 8 s"; sleep 8; done ) & SUP=$!
python addestra.py
rc=$?
kill -USR1 $SUP
wait $SUP
exit $rc
