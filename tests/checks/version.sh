#!/bin/sh
# version.sh ROOT VERSION [PROGRAM]: every place that says which version this is says VERSION, which comes from
# CMakeLists.txt. Recorded results keep the version that made them.
set -u
cd "$1" || exit 1
version=$2
minor=${version%.*}
failed=0
complain() {
    echo "$*"
    failed=1
}

# all PATTERN TEXT FILE...: PATTERN occurs in the files, and everything that it matches is TEXT.
all() {
    pattern=$1 text=$2
    shift 2
    found=$(grep -noE "$pattern" "$@" /dev/null)
    [ -n "$found" ] || complain "no \"$pattern\" in $*"
    echo "$found" | awk -v end=":$text" 'substr($0, length - length(end) + 1) != end { print; bad = 1 } END { exit bad }' ||
        complain "expected: $text"
}

all '^version: .*' "version: $version" CITATION.cff
all 'find_package\(hastings [0-9.]+' "find_package(hastings $minor" ./*.md docs/*.md tests/consumer/CMakeLists.txt
all '"hastings": "[0-9.]+"' "\"hastings\": \"$version\"" docs/cli.md docs/formats.md

# The first section of the changelog is of this version, released or not.
section=$(grep -m 1 '^## ' CHANGELOG.md)
case $section in
"## Unreleased ($version)" | "## $version - "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) ;;
*) complain "CHANGELOG.md: \"$section\" is neither \"## Unreleased ($version)\" nor \"## $version - YYYY-MM-DD\"" ;;
esac

if [ $# -ge 3 ]; then
    said=$("$3" --version)
    [ "$said" = "hastings $version" ] || complain "--version says \"$said\""
fi
exit $failed
