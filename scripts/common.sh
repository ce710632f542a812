# Sourced by the other scripts: the location of the cache, and the Node.js in it.
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir. It is outside the tree and outlives it.
# shellcheck shell=bash

cache=${WEIR_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or WEIR_CACHE}/.cache}/weir}

# Only exists if setup-node.sh found no suitable Node.js.
PATH=$cache/node/bin:$PATH
export PATH
