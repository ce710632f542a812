# Sourced by the other scripts: where the cache is, and the Node.js in it.
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir. It lies outside the tree and outlives it.
# shellcheck shell=bash

cache=${WEIR_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or WEIR_CACHE}/.cache}/weir}

# Only there if setup-node.sh found no Node.js that will do.
PATH=$cache/node/bin:$PATH
export PATH
