#!/bin/sh
# lanzar en segundo plano y olvidarse
nohup python entrenar.py > salida.log 2>&1 &
echo $! > entrenar.pid
wait
