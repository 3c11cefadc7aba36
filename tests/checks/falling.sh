#!/bin/sh
# falling.sh PROGRAM: runs it, and wants the last "loss X" that it prints to be less than a
# tenth of the first.
output=$("$@") || exit 1
echo "$output"
echo "$output" | awk '
    { for (i = 1; i < NF; i++) if ($i == "loss") { if (!lines++) first = $(i + 1); last = $(i + 1) } }
    END {
        if (lines < 2 || !(last + 0 < 0.1 * first)) { print "the loss does not fall"; exit 1 }
    }'
