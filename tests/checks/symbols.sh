#!/bin/sh
# symbols.sh NM STATIC SHARED PUBLIC: looks at the names that the libraries define. In the static library they begin
# with hs_, private ones with hs__; the shared library exports those that PUBLIC, the installed headers, declare with
# HS_API, and no other.
set -eu
nm=$1
static=$2
shared=$3
public=$4
failed=0
report() { # SENTENCE NAME...
    [ -n "$2" ] || return 0
    printf '%s:\n%s\n' "$1" "$2"
    failed=1
}
names() { awk '$2 ~ /^[A-TV-Z]$/ && $2 != "N" { print $3 }' | sort -u; }

in_static=$("$nm" --defined-only "$static" 2>/dev/null | names)
in_shared=$("$nm" --dynamic --defined-only "$shared" | names)
# A private name that a public header mentions, or a public one that none mentions, is misnamed.
mentioned=$(find "$public" -name '*.h' -exec cat {} + | grep -oE '\bhs_[a-z0-9_]+\b' | sort -u)
declared_by_macro=$(find "$public" -name '*.h' -exec cat {} + |
    sed -n 's/^HS_DECLARE_[A-Z0-9]*(\([a-z0-9_]*\)).*/hs_\1_at/p' | sort -u)
mentioned=$(printf '%s\n%s\n' "$mentioned" "$declared_by_macro" | sort -u)

[ "$(echo "$in_static" | wc -l)" -gt 300 ] || report "too few names are found in $static" "$in_static"
[ "$(echo "$in_shared" | wc -l)" -gt 200 ] || report "too few names are found in $shared" "$in_shared"
report "names in the static library without the prefix hs_" "$(echo "$in_static" | grep -v '^hs_' || true)"
report "names that the shared library exports without the prefix hs_, or that are private" \
    "$(echo "$in_shared" | grep -v '^hs_[a-z]' || true)"
tab=$(mktemp -d)
trap 'rm -rf "$tab"' EXIT
echo "$in_static" | grep -v '^hs__' >"$tab/static"
echo "$in_shared" >"$tab/shared"
echo "$mentioned" >"$tab/mentioned"
report "public names that the shared library hides (HS_API is missing)" "$(comm -23 "$tab/static" "$tab/shared")"
report "exported names that no public header declares" "$(comm -23 "$tab/shared" "$tab/mentioned")"
exit $failed
