#!/bin/sh
# docs.sh ROOT OPS_REFERENCE [PROGRAM]: what the documents say about files is so.
#   - docs/ops.md is what OPS_REFERENCE prints
#   - a code block under <!-- from FILE --> is found in FILE, line by line; under <!-- all of FILE -->
#     it is the whole file
#   - a code block under <!-- output of hastings ARGUMENT... --> is what PROGRAM prints; under
#     <!-- output of examples/NAME ARGUMENT... --> it is what that example prints, beside PROGRAM
#   - docs/results.md is what the program makes of docs/results/*.json
#   - a diff under <!-- applies --> applies to the tree
#   - links to files lead somewhere
set -u
cd "$1" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
complain() {
    echo "$*"
    failed=1
}

"$2" | cmp -s - docs/ops.md ||
    complain "docs/ops.md is out of date: cmake --build --preset release --target update-docs"

# block FILE LINE: the code block that follows that line.
block() {
    awk -v from="$2" 'NR > from && /^```/ { if (inside) exit; inside = 1; next } inside' "$1"
}

if [ $# -ge 3 ]; then
    "$3" report --quiet --markdown "$scratch/results.md" docs/results/*.json >/dev/null &&
        cmp -s "$scratch/results.md" docs/results.md ||
        complain "docs/results.md is out of date: cmake --build --preset release --target update-docs"
fi

for document in *.md docs/*.md; do
    grep -nE '^<!-- (all of|from) [^ ]+ -->$|^<!-- (applies|output of (hastings|examples/[a-z]+) .*) -->$' "$document" >"$scratch/marks"
    while IFS=: read -r line mark; do
        block "$document" "$line" >"$scratch/block"
        [ -s "$scratch/block" ] || complain "$document:$line: no code block follows"
        file=$(echo "$mark" | awk '{ print $(NF - 1) }')
        case $mark in
        *"output of"*)
            [ $# -ge 3 ] || continue
            call=${mark#*output of }
            [ -x "$(dirname "$3")/${call%% *}" ] || continue
            # shellcheck disable=SC2086
            "$(dirname "$3")/"${call% -->} | cmp -s - "$scratch/block" ||
                complain "$document:$line: is out of date: cmake --build --preset release --target update-docs"
            ;;
        *"all of"*)
            cmp -s "$scratch/block" "$file" || complain "$document:$line: is not $file"
            ;;
        *from*)
            awk 'NR == FNR { text = text $0 "\n"; next } { block = block $0 "\n" }
                 END { exit index("\n" text, "\n" block) == 0 }' "$file" "$scratch/block" ||
                complain "$document:$line: is not found in $file"
            ;;
        *applies*)
            if command -v patch >/dev/null; then
                apply="patch -p1 --dry-run --force --fuzz=0"
            elif command -v git >/dev/null; then
                apply="git apply --check"
            else
                continue
            fi
            $apply <"$scratch/block" >"$scratch/log" 2>&1 ||
                complain "$document:$line: does not apply: $(cat "$scratch/log")"
            ;;
        esac
    done <"$scratch/marks"
    for link in $(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | grep -v '^[a-z]*:'); do
        [ -e "$(dirname "$document")/$link" ] || complain "$document: link to $link leads nowhere"
    done
done
exit $failed
