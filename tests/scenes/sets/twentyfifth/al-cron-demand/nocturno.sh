#!/bin/bash
ts() { date '+%F %T'; }
echo "$(ts) nocturno: inicio, $(cat dias.txt) dias de ventas"
timeout -s KILL 24 python reentrenar.py
rc=$?
echo "$(ts) nocturno: reentrenar termina con $rc"
exit 0
