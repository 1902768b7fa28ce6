#!/bin/bash
exec python -u build_shards.py 4 2>&1 | tee prep.log
