#!/bin/sh
# install.sh BUILD PREFIX: installs into a fresh PREFIX, and looks that nothing is there that
# users should not see, and that hastings.h has all that they should.
set -eu
rm -rf "$2"
cmake --install "$1" --prefix "$2" >/dev/null
cd "$2/include"
failed=0
for header in $(find hastings -type f | sort); do # no name has a space
    case $header in
    *_internal.h | */simd.h | */vector_math.h)
        echo "$header is not public, but was installed"
        failed=1
        ;;
    *.h)
        grep -q "^#include <$header>" hastings.h || {
            echo "hastings.h does not include $header"
            failed=1
        }
        ;;
    esac
done
exit $failed
