#!/usr/bin/env bash
# decode.sh ID LENGTH - raw samples of a clip on stdout, one a line (stands for our old decoder)
seq "$1" $(( $1 + $2 - 1 ))
echo "clip $1: $2 samples" >&2
