#!/bin/bash
set -o xtrace
/etc/eks/bootstrap.sh shop \
  --kubelet-extra-args '--node-labels=nodegroup=web'
