#!/bin/sh
# elf.sh READELF BUILD INSTALLED HARDENED: looks at the headers of all programs and shared libraries that are built and
# installed. Entries of their run paths are absolute, or relative to the file itself: the loader takes an empty one for
# the current folder, and would run the code of whoever can write there. With HARDENED, 1 or 0, buffers are checked.
set -eu
readelf=$1
build=$2
installed=$3
hardened=$4
failed=0
complain() {
    echo "$*"
    failed=1
}

# Programs that tests build in folders of their own come and go while this runs.
files=$(find "$build" -path '*/CMakeFiles' -prune -o -path "$build/tests/consumer-*" -prune -o \
    -path "$build/tests/core" -prune -o -type f \( -perm -u+x -o -name '*.so*' \) -print)
seen=0
for file in $files; do # no name has a space
    dynamic=$("$readelf" -W -d "$file" 2>/dev/null | grep -E '\((RPATH|RUNPATH|NEEDED)\)') || continue
    seen=$((seen + 1))
    for path in $(echo "$dynamic" | sed -nE 's/.*R(UN)?PATH.*\[(.*)\]$/:\2:/p'); do
        # shellcheck disable=SC2016
        wrong=$(echo "$path" | sed 's/^://; s/:$//' | tr ':' '\n' | grep -vE '^(/|\$ORIGIN(/|$))' || true)
        case $path in *::*) wrong="an empty entry" ;; esac
        [ -z "$wrong" ] || complain "$file: its run path ${path} has $wrong"
    done
done
[ "$seen" -gt 20 ] || complain "only $seen programs and libraries are found in $build"

for file in "$build"/hastings "$build"/libhastings_exported.so* "$installed"/bin/hastings; do
    [ -f "$file" ] || continue
    "$readelf" -W -l "$file" | grep -q GNU_RELRO || complain "$file: its table of symbols stays writable"
    "$readelf" -W -d "$file" | grep -q 'FLAGS_1.*NOW' || complain "$file: its symbols are not bound at the start"
    [ "$hardened" = 1 ] || continue
    symbols=$("$readelf" -W --dyn-syms "$file")
    for symbol in __stack_chk_fail __snprintf_chk; do
        case $symbols in *"$symbol"*) ;; *) complain "$file: $symbol is not called" ;; esac
    done
done
exit $failed
