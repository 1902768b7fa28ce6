#!/bin/bash
# instance préemptible : relancer jusqu'à la fin
while true; do
  python entraine.py; rc=$?
  [ $rc -eq 0 ] && break
  echo "$(date '+%F %T') superviseur: sortie $rc, relance dans 3 s"
  sleep 3
done
