#!/bin/sh
# includes.sh: no source reaches into another folder by a relative path.
set -u
if grep -rnE --include='*.[ch]' \
    '#include "((\.\./)+(tensor|autograd|nn|flows|mcmc|objectives|experiments|cli)/|\.\./\.\.)' \
    tensor autograd nn flows mcmc objectives experiments cli; then
    echo "internal headers of another folder are included"
    exit 1
fi
