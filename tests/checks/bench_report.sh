#!/bin/sh
# bench_report.sh BENCH_STEPS: what bench_steps --report makes of a small file with rows that were measured in any
# order.
set -u
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
complain() {
    echo "$*"
    failed=1
}
# page NAME: the page of NAME.json.
page() {
    "$program" --report "$scratch/$1.json" "$scratch/notes.md" "$scratch/$1.md" "$scratch/$1.svg" ||
        complain "there is no page of $1.json"
}
# expect NAME: the lines of standard input are in the page of that name, one after the other.
expect() {
    cat >"$scratch/expected"
    awk 'NR == FNR { line[++n] = $0; next } $0 == line[at + 1] { if (++at == n) found = 1; next }
         { at = $0 == line[1] } END { exit !found }' "$scratch/expected" "$scratch/$1.md" ||
        complain "the page of $1.json lacks these lines: $(cat "$scratch/expected")"
}
echo "The notes." >"$scratch/notes.md"

cat >"$scratch/new.json" <<'END'
{"processor": "Abacus 3", "isa": "avx2", "threads": 2, "peers": {"torch": "torch 9"},
 "steps": [
  {"case": "a", "title": "A", "objective": "gsm", "type": "f32", "rounds": 5, "round_seconds": 0.2,
   "seconds": {"hastings 1": 1e-3, "torch 1": 2e-3, "jax 1": 3e-3, "hastings 2": 1e-3, "torch 2": 5e-4}},
  {"case": "b", "title": "B", "objective": "gsm", "type": "f32", "rounds": 3, "round_seconds": 0.2,
   "seconds": {"hastings 1": 1e-3, "torch 1": 4e-3, "jax 1": null, "hastings 2": 1e-3}},
  {"case": "c", "title": "C", "objective": "gsm", "type": "f64",
   "seconds": {"hastings 1": 1e-3, "jax 1": 5e-4}},
  {"case": "d", "title": "D", "objective": "gsm", "type": "f32", "seconds": {"hastings 1": 1e-3}}],
 "sampling": [
  {"case": "s", "title": "S", "kind": "mala", "chains": 1,
   "per_second": {"hastings 1": 100, "torch 1": 50, "jax 1": 80, "hastings 2": 10, "jax 2": 10}},
  {"case": "s", "title": "S", "kind": "hmc", "chains": 100,
   "per_second": {"hastings 1": 100, "torch 1": 200, "jax 1": 150}}],
 "first": [{"case": "a", "title": "A", "rounds": 1}],
 "scaling": [
  {"what": "couplings", "case": "x", "size": 8, "seconds": 20e-6, "rounds": 4, "round_seconds": 0.1},
  {"what": "threads", "case": "y", "size": 1, "seconds": 8e-6, "rounds": 4, "round_seconds": 0.5},
  {"what": "couplings", "case": "x", "size": 4, "seconds": 15e-6},
  {"what": "threads", "case": "x", "size": 2, "seconds": 6e-6},
  {"what": "couplings", "case": "x", "size": 16, "seconds": 30e-6},
  {"what": "rows", "case": "x", "size": 3, "seconds": 1e-6},
  {"what": "threads", "case": "y", "size": 2, "seconds": 4e-6},
  {"what": "rows", "case": "x", "size": 12, "seconds": 4e-6},
  {"what": "couplings", "case": "x", "size": 32, "seconds": 70e-6},
  {"what": "threads", "case": "x", "size": 1, "seconds": 12e-6}]}
END
page new
grep -q " Abacus 3, avx2, 2 threads; " "$scratch/new.md" || complain "the page does not say the processor"
grep -q "turns (steps: 3 to 5 rounds of 0.2 s, first: 1 round, scaling: 4 rounds of 0.1 to 0.5 s)\. What" \
    "$scratch/new.md" || complain "the page does not say the rounds"

# A file from before rows had their rounds, and the file its processor.
echo '{"isa": "avx2", "threads": 1, "rounds": {"steps": [5, 0.2]}, "steps": [{"case": "a"}]}' >"$scratch/old.json"
page old
grep -q "your machine\. avx2, 1 thread; medians of rounds in which all contenders take turns\. What" "$scratch/old.md" ||
    complain "the page of an old file says other things"

# Beside the faster of the peers that there are, and only in rows that have one.
expect new <<'END'
## Ahead and behind

How many times as fast as the faster of PyTorch and JAX, on as many threads, over the rows below that have one of them.

| part | threads | ahead | smallest | median | largest | a peer is ahead in |
|---|---|---|---|---|---|---|
| gradient steps | 1 | 2 of 3 | 0.5 | 2 | 4 | C, gsm, f64 (0.5) |
| gradient steps | 2 | 0 of 1 | 0.5 | 0.5 | 0.5 | A, gsm (0.5) |
| sampling | 1 | 1 of 2 | 0.5 | 0.875 | 1.25 | S, hmc, 100 chains (0.5) |
| sampling | 2 | 1 of 1 | 1 | 1 | 1 | none |
END
expect old <<'END'
| gradient steps | 1 | 0 of 0 | - | - | - | none |
| sampling | 1 | 0 of 0 | - | - | - | none |
END
[ "$(grep -o '^!\[\|^## [A-Z][a-z]*' "$scratch/new.md" | head -4 | tr '\n' ' ')" = \
    '![ ## Ahead ## Aims ## What ' ] || complain "the summary is not after the chart"

# Aims: at half of the limit, 10 times a peer would be 20 times; and two threads are worth least in the f64 row.
cat >"$scratch/aims.json" <<'END'
{"isa": "avx2", "threads": 2,
 "steps": [
  {"case": "cross8", "title": "Cross", "objective": "ab-initio", "type": "f32", "flops": 1e6, "shards": 2,
   "seconds": {"hastings 1": 20e-6, "torch 1": 200e-6, "jax 1": 100e-6, "hastings 2": 10e-6, "torch 2": 250e-6},
   "peak_gflops": {"1": 100, "2": 200}},
  {"case": "cross8", "title": "Cross", "objective": "ab-initio", "type": "f64", "shards": 2,
   "seconds": {"hastings 1": 30e-6, "hastings 2": 20e-6}},
  {"case": "cross8", "title": "Cross", "objective": "gsm", "type": "f32", "shards": 1,
   "seconds": {"hastings 1": 30e-6, "hastings 2": 40e-6}},
  {"case": "rwm1000", "title": "Walk", "objective": "ab-initio", "type": "f32", "normals": 1000,
   "seconds": {"hastings 1": 3e-6, "hastings 2": 2e-6}}],
 "sampling": [
  {"case": "german", "title": "German", "kind": "hmc", "chains": 100, "flops": 1e3, "exponentials": 10,
   "per_second": {"hastings 1": 40e6, "torch 1": 10e6}, "peak_gflops": {"1": 100}, "giga_exponentials": {"1": 1}},
  {"case": "german", "title": "German", "kind": "hmc", "chains": 1, "per_second": {"hastings 1": 9, "torch 1": 1}}],
 "first": [{"case": "cross8", "seconds": {"hastings": 0.04}}, {"case": "mnist", "seconds": {"hastings": 3}}],
 "scaling": [
  {"what": "threads", "case": "cross8", "size": 2, "seconds": 10e-6},
  {"what": "threads", "case": "cross8", "size": 8, "seconds": 20e-6}]}
END
page aims
expect aims <<'END'
| case | aim | 1 thread | 2 threads | at the limit, 1 thread | 2 threads |
|---|---|---|---|---|---|
| Cross | 25 times PyTorch | 10 | **25** | 20 | 50 |
| Cross | 5 times JAX | **5** | - | 10 | - |
| Cross | 30% of the limit | **50%** | **50%** | 100% | 100% |
| Walk | 6 times PyTorch | - | - | - | - |
| German, 100 chains, hmc | 3 times PyTorch | **4** | - | 5 | - |
| German, 100 chains, hmc | 50% of the limit | **80%** | - | 100% | 100% |
| Walk | 2 ns a normal, the rest of the step included | 3 | **2** | - | - |
| all but MNIST, the slowest | 0.05 s from start to first step | - | **0.04** | - | - |
| all of several shards, median | 1.8 times one thread | - | **2** | - | 2 |
| all of several shards, the worst | 1.8 times one thread | - | 1.5 | - | 2 |
| cross, Heart, the worst | more threads than cores: 0.7 times the speed of 2 | - | 0.5 | - | 1 |
END

# Twice the couplings take 5 more, then 10 more, then 40 more microseconds; half of 12 rows was not measured.
expect new <<'END'
| couplings | x | 4 | 15 | 1 | - |
| couplings | x | 8 | 20 | 0.667 | 1 |
| couplings | x | 16 | 30 | 0.5 | 1 |
| couplings | x | 32 | 70 | 0.583 | 2 |
| threads | y | 1 | 8 | 1 | - |
| threads | y | 2 | 4 | 0.5 | - |
| threads | x | 1 | 12 | 1 | - |
| threads | x | 2 | 6 | 0.5 | - |
| rows | x | 3 | 1 | 1 | - |
| rows | x | 12 | 4 | 1 | - |
END
exit $failed
