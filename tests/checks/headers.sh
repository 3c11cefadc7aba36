#!/bin/sh
# headers.sh INCLUDE COMPILER...: compiles every header below INCLUDE by itself.
set -eu
include=$1
shift
cd "$include"
failed=0
for header in $(find . -name '*.h' | sed 's|^\./||' | sort); do
    printf '#include <%s>\n' "$header" | "$@" -fsyntax-only -I. - || {
        echo "$header does not compile alone"
        failed=1
    }
done
exit $failed
