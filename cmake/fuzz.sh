# ./test fuzz: fuzzers of everything that reads bytes or text from outside. ./test sources this.

# fuzz [MINUTES] [HARNESS...]: as many at a time as there are cores. Fails if there are findings.
fuzz() {
    minutes=1
    case ${1:-} in
    [1-9]*)
        minutes=$1
        shift
        ;;
    esac
    build fuzz fuzz_harnesses
    # shellcheck disable=SC2046
    [ $# -gt 0 ] || set -- $(cut -d ' ' -f 1 build/fuzz/harnesses)
    scratch=$(mktemp -d /dev/shm/hastings-fuzz.XXXXXX)
    trap 'rm -rf "$scratch"' EXIT
    export TMPDIR="$scratch" minutes
    export ASAN_OPTIONS=allocator_may_return_null=1
    export LSAN_OPTIONS=suppressions=tests/fuzz/leaks.supp:print_suppressions=0
    printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh -c '. cmake/fuzz.sh && fuzz_one "$1"' fuzz
    {
        printf 'harness\texecutions\tedges\tfindings\n'
        for harness; do
            fuzz_row "$harness"
        done
    } >build/fuzz/table.tsv
    awk -F '\t' '{ printf "%-16s %12s %8s %8s\n", $1, $2, $3, $4 }' build/fuzz/table.tsv
    ! awk -F '\t' 'NR > 1 && $4 > 0 { found = 1 } END { exit !found }' build/fuzz/table.tsv
}

# Runs a harness until its time is over or it finds something.
fuzz_one() {
    if ! row=$(grep "^$1 " build/fuzz/harnesses); then
        echo "There is no harness $1" >&2
        return 255
    fi
    words=${row##* }
    seeds=${row% *}
    folders=tests/fuzz/seeds/${seeds#* }
    [ ! -d "tests/fuzz/findings/$1" ] || folders="$folders tests/fuzz/findings/$1"
    mkdir -p "build/fuzz/corpus/$1" "build/fuzz/findings/$1" build/fuzz/logs
    # shellcheck disable=SC2086
    "build/fuzz/tests/fuzz/fuzz_$1" -max_total_time=$((60 * minutes)) -rss_limit_mb=2048 -timeout=10 \
        -dict="tests/fuzz/dictionaries/$words.dict" -artifact_prefix="build/fuzz/findings/$1/" \
        -print_final_stats=1 "build/fuzz/corpus/$1" $folders >"build/fuzz/logs/$1" 2>&1 || true
}

# A line of the table, from what libFuzzer wrote.
fuzz_row() {
    awk -v name="$1" '
        /stat::number_of_executed_units:/ { executions = $2 }
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        /Test unit written to/ { findings++ }
        END { printf "%s\t%d\t%d\t%d\n", name, executions, edges, findings }' "build/fuzz/logs/$1"
}
