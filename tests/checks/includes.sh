#!/bin/sh
# includes.sh: no source reaches into another folder by a relative path.
set -eu
found=$(grep -nE '#include "(\.\./)+(tensor|autograd|nn|flows|mcmc|objectives|experiments|cli)/' \
    $(git ls-files tensor autograd nn flows mcmc objectives experiments cli) || true)
beyond=$(grep -nE '#include "\.\./\.\.' $(git ls-files tensor autograd nn flows mcmc objectives experiments cli) || true)
[ -z "$found$beyond" ] || {
    printf 'internal headers of another folder are included:\n%s\n%s\n' "$found" "$beyond"
    exit 1
}
