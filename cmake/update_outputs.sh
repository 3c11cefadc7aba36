#!/bin/sh
# update_outputs.sh PROGRAM FILE...: code blocks under <!-- output of hastings ARGUMENT... --> become what
# PROGRAM prints with these arguments; under <!-- output of examples/NAME ARGUMENT... --> what that example prints.
set -eu
program=$1
shift
for file; do
    awk -v folder="$(dirname "$program")" '
        skipping { if (/^```/) { skipping = 0; print } next }
        { print }
        /^<!-- output of (hastings|examples\/[a-z]+) .* -->$/ {
            command = $0
            sub(/^<!-- output of /, "", command)
            sub(/ -->$/, "", command)
            pending = 1
            next
        }
        pending && /^```/ {
            call = folder "/" command
            while ((call | getline line) > 0)
                print line
            close(call)
            pending = 0
            skipping = 1
        }' "$file" >"$file.new"
    mv "$file.new" "$file"
done
