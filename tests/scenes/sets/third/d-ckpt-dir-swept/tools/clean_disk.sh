#!/bin/bash
# frees space on the box: everything in output folders (old experiments)
cd "$(dirname "$0")/.." || exit 1
du -sh output 2>/dev/null
rm -rf output/*
