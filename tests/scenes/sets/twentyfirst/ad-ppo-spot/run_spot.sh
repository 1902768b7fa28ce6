#!/bin/bash
while true; do
  python ppo_cartpole.py
  rc=$?
  [ $rc -eq 143 ] || exit $rc
  echo "$(date +%T) 선점됨 (rc=143), 6초 뒤 다시 시작"
  sleep 6
done
