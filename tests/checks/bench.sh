#!/bin/sh
# bench.sh BENCH_STEPS ROOT: the benchmark of gradient steps runs, and docs/performance.md and its chart are what
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

"$program" --cases mixture,rwm100,ripley --objectives ab-initio,gsm --peers none --parts steps --rounds 1 \
    --seconds 0.01 --json "$scratch/out.json" 2>"$scratch/err" || complain "it fails: $(cat "$scratch/err")"
[ "$(grep -c '"hastings 1"' "$scratch/out.json")" = 12 ] || complain "there are not 12 measurements"
[ "$(grep -c '"round_seconds": 0.01' "$scratch/out.json")" = 12 ] || complain "rows do not say their rounds"
"$program" --cases german --peers none --parts sampling --rounds 1 --seconds 0.01 \
    --json "$scratch/chains.json" 2>"$scratch/err" || complain "chains fail: $(cat "$scratch/err")"
[ "$(grep -c '"acceptance"' "$scratch/chains.json")" = 8 ] || complain "there are not 8 kinds of chains"

# A Python that answers as peers do, and notes who was called.
mkdir "$scratch/bin"
cat >"$scratch/bin/python3" <<END
#!/bin/sh
echo "\$1" >>"$scratch/called"
[ "\${3:-}" = --first ] && exit 0
echo "ready 1.0"
while read -r what rest; do
    case \$what in
    open) echo "1e-7 1e-7 # variant" ;;
    run | plain) echo 0.001 ;;
    sample) echo "1000 0.3" ;;
    quit) exit ;;
    esac
done
END
chmod +x "$scratch/bin/python3"
# peers PEERS PART ARG...: the rows of a part with these peers, in peers.json.
peers() {
    rm -f "$scratch/called" "$scratch/peers.json"
    of=$1
    part=$2
    shift 2
    PATH="$scratch/bin:$PATH" "$program" --peers "$of" --parts "$part" "$@" --rounds 1 --seconds 0.01 \
        --json "$scratch/peers.json" 2>"$scratch/err" || complain "$part with $of fails: $(cat "$scratch/err")"
}
for part in steps sampling first; do
    case $part in
    steps) set -- --cases rwm100 --objectives msjd --types f32 ;;
    sampling) set -- --cases german --kinds mala --chains 100 ;;
    first) set -- --cases rwm100 ;;
    esac
    peers none $part "$@"
    [ ! -e "$scratch/called" ] || complain "$part starts peers that are not wanted"
    ! grep -q '"\(torch\|jax\)' "$scratch/peers.json" || complain "$part has figures of peers that are not wanted"
    [ "$(grep -c '"case"' "$scratch/peers.json")" = 1 ] || complain "$part has not one row"
    peers jax $part "$@"
    grep -q jax "$scratch/called" && ! grep -q torch "$scratch/called" || complain "$part has not jax alone"
    grep -q '"jax' "$scratch/peers.json" && ! grep -q '"torch' "$scratch/peers.json" ||
        complain "$part has not figures of jax alone"
done
for wrong in '--kinds mla' '--chains 2' '--peers numpy' '--cases cross8,' '--types ,f32'; do
    # shellcheck disable=SC2086
    "$program" $wrong 2>"$scratch/err"
    [ $? = 2 ] && grep -q 'there is no' "$scratch/err" || complain "$wrong is taken"
done

# What a file has of this processor stays, what it has of another does not, and it may not say.
again() {
    "$program" --cases ripley --objectives gsm --types f64 --peers none --parts steps --rounds 1 \
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
