#!/bin/bash
# the box is paid until then
timeout 55 python -u train.py 2>&1
exit $?
