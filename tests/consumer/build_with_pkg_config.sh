#!/bin/sh
# build_with_pkg_config.sh LIBDIR BUILD COMPILER: compiles and runs the project without CMake, from
# an installation that was moved.
set -eu
rm -rf "$2"
mkdir -p "$2"
prefix=${1%/lib*}
cp -R "$prefix" "$2/moved"
export PKG_CONFIG_PATH="$2/moved${1#"$prefix"}/pkgconfig"
cd "$(dirname "$0")"
# shellcheck disable=SC2046
"$3" -std=c17 -O1 main.c gated.c $(pkg-config --cflags --libs hastings) -o "$2/consumer"
LD_LIBRARY_PATH="$2/moved${1#"$prefix"}" "$2/consumer" # for a shared library
