#!/bin/sh
# update_outputs.sh PROGRAM FILE...: code blocks under <!-- output of hastings ARGUMENT... --> become what
# PROGRAM prints with these arguments.
set -eu
program=$1
shift
for file; do
    awk -v program="$program" '
        skipping { if (/^```/) { skipping = 0; print } next }
        { print }
        /^<!-- output of hastings .* -->$/ {
            command = $0
            sub(/^<!-- output of hastings /, "", command)
            sub(/ -->$/, "", command)
            pending = 1
            next
        }
        pending && /^```/ {
            call = program " " command
            while ((call | getline line) > 0)
                print line
            close(call)
            pending = 0
            skipping = 1
        }' "$file" >"$file.new"
    mv "$file.new" "$file"
done
