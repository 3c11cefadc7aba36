#!/bin/sh
# core.sh SOURCE BUILD GENERATOR COMPILER NM LIBRARY: builds the library's folders without NetCDF and the program in a
# fresh folder, and looks that they need neither NetCDF nor HDF5, Cairo or Jansson; links and runs a program with what
# hastings.pc says. The kernels, which take most of the time to compile and know nothing of files, are LIBRARY's.
set -eu
source=$1
build=$2
nm=$5
rm -rf "$build"
cmake -S "$source" -B "$build" -G "$3" -DCMAKE_C_COMPILER="$4" -DCMAKE_BUILD_TYPE=Debug -DHS_WITH_NETCDF=OFF \
    -DHS_BUILD_PROGRAM=OFF -DHS_BUILD_BENCH=OFF -DHS_BUILD_EXAMPLES=OFF -DHS_BUILD_TESTS=OFF >"$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
cmake --build "$build" --target hs_tensor hs_autograd hs_nn hs_flows hs_mcmc hs_objectives >"$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
objects=$(find "$build" -name '*.o')
failed=0
# shellcheck disable=SC2086
needed=$("$nm" --undefined-only $objects | awk '$1 == "U" { print $2 }' | grep -E '^(nc_|H5|cairo_|json_)' | sort -u) || true
[ -z "$needed" ] || { echo "the library calls: $needed"; failed=1; }
if grep -niE 'netcdf|hdf5' "$build/hastings.pc"; then
    echo "hastings.pc asks for NetCDF"
    failed=1
fi

cat >"$build/core.c" <<'END'
#include <hastings.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    hs_message message;
    hs_chains *chains, *again;
    if (hs_chains_new(&chains, 2, 5, 3, 0, &message))
        return 1;
    chains->x[7] = 0.1;
    const char *paths[] = { "core.npy" };
    if (hs_chains_write(chains, NULL, paths[0], &message) || hs_chains_read(&again, NULL, paths, 1, &message))
        return puts(message.text), 2;
    const int same = !memcmp(chains->x, again->x, 30 * sizeof(double));
    const hs_status status = hs_chains_write(chains, NULL, "core.nc", &message);
    puts(message.text);
    const int refused = status == HS_EINVAL && strstr(message.text, "core.nc: this build of Hastings has no NetCDF") &&
                        strstr(message.text, "-DHS_WITH_NETCDF=ON") && !hs_chain_format_of("a.nc", NULL)->built;
    FILE *file = fopen("core.nc", "wb"); /* a file of somebody else's */
    if (!file || fwrite("\x89HDF\r\n\x1a\n", 1, 8, file) != 8 || fclose(file))
        return 3;
    hs_chains_free(again);
    hs_chains_free(chains);
    paths[0] = "core.nc";
    const int unread = hs_chains_read(&again, NULL, paths, 1, &message) == HS_EINVAL && !again &&
                       strstr(message.text, "has no NetCDF");
    return same && refused && unread ? 0 : 4;
}
END
cd "$build"
PKG_CONFIG_PATH=$build
export PKG_CONFIG_PATH
includes=$(printf -- '-I%s ' "$build"/include-*)
libraries=$(pkg-config --libs hastings | sed 's/-lhastings//')
# shellcheck disable=SC2086
"$4" -std=c17 $includes core.c $objects "$6" $libraries -o core
./core || { echo "the program ended with $?"; failed=1; }
exit $failed
