#!/bin/sh
# check_bench.sh BENCH_STEPS ROOT: the benchmark of gradient steps runs, and docs/performance.md and its chart are what
# it makes of bench/performance.json.
set -u
program=$1
root=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
complain() {
    echo "$*"
    failed=1
}

"$program" --cases mixture,rwm100,ripley --objectives ab-initio,gsm --peer-objectives "" --parts steps --rounds 1 \
    --seconds 0.01 --json "$scratch/out.json" 2>"$scratch/err" || complain "it fails: $(cat "$scratch/err")"
[ "$(grep -c '"hastings 1"' "$scratch/out.json")" = 12 ] || complain "there are not 12 measurements"
[ "$(grep -c '"round_seconds": 0.01' "$scratch/out.json")" = 12 ] || complain "rows do not say their rounds"
"$program" --cases german --peer-objectives "" --parts sampling --rounds 1 --seconds 0.01 \
    --json "$scratch/chains.json" 2>"$scratch/err" || complain "chains fail: $(cat "$scratch/err")"
[ "$(grep -c '"acceptance"' "$scratch/chains.json")" = 8 ] || complain "there are not 8 kinds of chains"

# What a file has of this processor stays, what it has of another does not, and it may not say.
again() {
    "$program" --cases ripley --objectives gsm --types f64 --peer-objectives "" --parts steps --rounds 1 \
        --seconds 0.01 --json "$scratch/$1.json" 2>"$scratch/err" || complain "it fails again: $(cat "$scratch/err")"
    rows=$(grep -c '"hastings 1"' "$scratch/$1.json")
}
sed 's/"processor": ".*"/"processor": "Abacus"/' "$scratch/out.json" >"$scratch/other.json"
sed '/"processor"/d' "$scratch/out.json" >"$scratch/unsaid.json"
again out
[ "$rows" = 12 ] && ! grep -q dropped "$scratch/err" || complain "rows of this processor do not stay"
again other
[ "$rows" = 1 ] && grep -q "of Abacus, and this is .* dropped" "$scratch/err" && ! grep -q Abacus "$scratch/other.json" ||
    complain "rows of another processor stay"
again unsaid
[ "$rows" = 12 ] && grep -q "does not say" "$scratch/err" && ! grep -q '"processor"' "$scratch/unsaid.json" ||
    complain "rows of an unknown processor are taken for ours, or dropped"

"$program" --first cross3 >"$scratch/loss" || complain "there is no first step"
"$program" --dump mala100 l2hmc f64 "$scratch/case" || complain "a case cannot be dumped"
for file in case.json theta.npy gradient.npy x.npy n.npy; do
    [ -s "$scratch/case/$file" ] || complain "a dumped case has no $file"
done
"$program" --cases 2>/dev/null
[ $? = 2 ] || complain "an option without a value is taken"
"$program" --dump nothing msjd f64 "$scratch/never" 2>/dev/null
[ $? = 2 ] || complain "a case that does not exist is taken"
"$program" --report "$scratch/nowhere.json" "$root/bench/performance.md" "$scratch/p.md" "$scratch/p.svg" 2>/dev/null
[ $? = 1 ] || complain "a file that is not there is taken"

"$program" --report "$root/bench/performance.json" "$root/bench/performance.md" "$scratch/performance.md" \
    "$scratch/performance.svg" || complain "there is no report"
for file in performance.md performance.svg; do
    cmp -s "$scratch/$file" "$root/docs/$file" ||
        complain "docs/$file is out of date: cmake --build --preset release --target update-docs"
done
exit $failed
