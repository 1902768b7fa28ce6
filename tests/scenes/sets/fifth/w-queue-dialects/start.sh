#!/usr/bin/env bash
nohup bash night.sh > night.log 2>&1 < /dev/null &
