#!/bin/sh
# cli.sh PROGRAM: what tests inside of one process cannot show: pipes, signals, files that are made,
# and completion in a shell.
set -u
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C
failed=0
complain() {
    echo "$*"
    failed=1
}
# expect CODE ARGUMENT...: runs the program; what it writes is in out and err.
expect() {
    wanted=$1
    shift
    "$program" "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || complain "hastings $*: exit code $code, not $wanted: $(cat err)"
}
says() {
    grep -q -e "$2" "$1" || complain "\"$2\" is not in $1: $(cat "$1")"
}

# ---- Where output goes

{
    "$program" list
    echo $? >code
} | head -n 1 >out
[ "$(cat code)" = 0 ] || complain "hastings list | head: exit code $(cat code)"
"$program" list >&- 2>err
[ $? -eq 1 ] || complain "hastings list with stdout closed does not fail"
says err "the output could not be written"
if [ -e /dev/full ]; then
    "$program" list >/dev/full 2>err
    [ $? -eq 1 ] || complain "hastings list on a full disk does not fail"
    says err "No space left"
fi

# ---- Train, sample, diagnose: nothing is replaced

train="train --target cross --proposal mala --steps 50 --starts 2 --proposals 5"
# shellcheck disable=SC2086
expect 0 $train
# shellcheck disable=SC2086
expect 0 $train --quiet
[ -s err ] && complain "--quiet is not: $(cat err)"
[ -e proposals/cross-mala-ab-initio-2.json ] || complain "no second proposal: $(ls proposals)"
# shellcheck disable=SC2086
expect 0 $train --optimizer sgd,momentum=0.5 --rate 0.0009765625 --json
says out '"optimizer": "sgd"'
says out '"rate": 0.0009765625'
# shellcheck disable=SC2086
expect 0 $train --optimizer lion,rate=0.0625 --json
says out '"rate": 0.0625'
# shellcheck disable=SC2086
expect 0 $train --json
says out '"optimizer": "adam"'
says out '"rate": 0.0003'
# shellcheck disable=SC2086
expect 2 $train --optimizer adm
says err 'optimizer adm: there is no optimiser "adm", only sgd, adam'
# shellcheck disable=SC2086
expect 2 $train --optimizer adam,momentum=0.5
says err 'optimiser "adam" has no option "momentum"'
expect 2 run cross --quick --optimizer adam,beta1=2
says err 'beta1 must be in (0, 1)'
expect 0 list optimizers --json
says out '"name": "momentum"'
for kind in nc npy; do
    expect 0 sample proposals/cross-mala-ab-initio.json --draws 50 --out "draws.$kind"
    expect 2 sample proposals/cross-mala-ab-initio.json --draws 50 --out "draws.$kind"
    expect 0 diagnose "draws.$kind"
    says out "5 chains of 50 draws in 2 dimensions"
done
expect 0 sample proposals/cross-mala-ab-initio.json --draws 50 --chains 2 --out draws.csv --json
says out '"file": "draws.csv"'
expect 2 sample proposals/cross-mala-ab-initio.json --draws 50 --out draws.csv
expect 0 diagnose draws_1.csv draws_2.csv --skip 10
says out "2 chains of 40 draws in 2 dimensions"

# ---- More than there is memory for: said before it is taken

expect 1 sample proposals/cross-mala-ab-initio.json --draws 1000000000000
says err "205 TB are needed, and .* are left"
expect 1 sample proposals/cross-mala-ab-initio.json --draws 9007199254740992 --thin 9007199254740992
says err "more steps than can be counted"
expect 1 run cross --quick --case L=3 --objective ab-initio --steps 5 --chains 4294967296 --draws 2147483648 --out huge
says err "out of memory for 9223372036854775808 points"
says err "more than 18.4 EB are needed"
rm proposals/cross-mala-ab-initio.hsp
expect 1 sample proposals/cross-mala-ab-initio.json
says err "cross-mala-ab-initio.hsp"

# ---- Names are reserved: trainings at once get one each

for i in 1 2 3 4; do
    # shellcheck disable=SC2086
    "$program" $train --quiet --steps 2000 --out together >"said.$i" 2>&1 &
    pids="${pids:-} $!"
done
# shellcheck disable=SC2086
wait $pids
[ "$(sed -n 's/^saved *//p' said.? | sort -u | wc -l)" = 4 ] || complain "four trainings share names: $(cat said.?)"
set -- together/*.json together/*.hsp
[ $# = 8 ] || complain "not four proposals: $*"
"$program" run cross --quick --case L=3 --objective msjd --steps 1 --chains 1 --draws 9 --quiet >said.1 2>&1 &
pid=$!
expect 0 run cross --quick --case L=3 --objective msjd --steps 1 --chains 1 --draws 9 --quiet
wait $pid || complain "two runs at once share a folder: $(cat said.1)"
rm -r results

# One that saves nothing leaves no name behind; of one that was killed, the name is taken over, unless parameters are there.
# shellcheck disable=SC2086
expect 1 $train --rate 1e300 --optimizer sgd --out nothing
says err "step .*not finite"
# shellcheck disable=SC2086
expect 1 $train --rate 1e300 --optimizer sgd --out nothing --restarts 2
says err "none of 2 tries stayed finite; the first: step .*not finite"
[ -z "$(ls nothing)" ] || complain "a training that failed left $(ls nothing)"
# shellcheck disable=SC2086
"$program" $train --steps 100000000 --quiet --out killed 2>/dev/null &
pid=$!
for _ in $(seq 500); do
    [ -e killed/cross-mala-ab-initio.json ] || sleep 0.02
done
# shellcheck disable=SC2086
expect 0 $train --out killed
says out "saved  *killed/cross-mala-ab-initio-2.json"
kill -KILL $pid
wait $pid 2>/dev/null
# shellcheck disable=SC2086
expect 0 $train --out killed
says out "saved  *killed/cross-mala-ab-initio.json"
rm killed/cross-mala-ab-initio.json
# shellcheck disable=SC2086
expect 0 $train --out killed
says out "saved  *killed/cross-mala-ab-initio-3.json"

# ---- A data set of one's own, with labels in a column that is not the last

{
    echo "ill,age,weight"
    for i in 1 2 3 4 5 6 7 8 9; do
        echo "$((i % 2)),$((i * 7 % 10)),$i"
    done
} >own.csv
expect 0 train --target logistic,data=own.csv,label=ill --proposal random-walk --steps 20 --reference 2000
expect 2 train --target logistic,data=own.csv --proposal random-walk
says err "own.csv"

# ---- The choice of a proposal

expect 0 select --target gaussian,dim=2 --steps 300 --batches 20 --out chosen \
    --schemes "random-walk;resampling-flow,couplings=2,width=4,depth=1"
says out "^Use "
set -- chosen/*.json
[ -e "$1" ] || complain "select saved nothing"

# HMC knows no density: it is not trained by objectives that need one, and has no place in the ranking by loss.
expect 2 train --target gaussian,dim=2 --proposal hmc --objective gsm-60 --steps 20
says err "\"gsm\" needs the density of proposal \"hmc\""
expect 0 select --target gaussian,dim=2 --steps 300 --batches 20 --schemes "hmc;random-walk,log_step"
says out "^Use random-walk,log_step"
says out "^hmc knows no density"
expect 0 select --target gaussian,dim=2 --steps 300 --batches 20 --schemes hmc
says out "^Use hmc: it makes the most effective draws"

# ---- A run, stopped and resumed: one of some seconds, which is stopped in its first tenth

cat >own.json <<'END'
{ "name": "own", "title": "A test", "columns": ["acceptance", "msjd"],
  "settings": { "steps": 1000000, "starts": 1, "proposals": 20, "chains": 2, "draws": 100 },
  "cases": [ { "name": "plane", "target": "gaussian,dim=2", "proposal": "random-walk" } ],
  "rows": [ { "name": "MSJD", "objective": "msjd" } ] }
END
: >err
"$program" run own.json >out 2>>err &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -q begins err; do
    sleep 0.05
done
sleep 0.1
kill -TERM $pid
wait $pid
code=$?
[ $code -eq 130 ] || complain "a run that was stopped: exit code $code: $(cat err)"
says err "to go on: hastings run --resume results/own"
says results/own/result.json '"state": "partial"'
expect 0 run --resume results/own
says results/own/result.json '"state": "complete"'
says out "results/own/report.html"
expect 0 run own.json --steps 10 --json --quiet
says out '"folder": "results/own-2"'
[ -s err ] && complain "--quiet is not: $(cat err)"
expect 0 report results/own-2
expect 0 report --markdown all.md results/own results/own-2
[ -s all.md ] || complain "report --markdown wrote nothing"

# Names of files are shown on a terminal, not obeyed.
sed 's/"own"/"shown"/; s/"plane"/"pl\\u001b[2Jane"/; s/"A test"/"A \\u001b]0;title\\u0007"/' own.json >shown.json
expect 0 run shown.json --steps 10
says out 'pl\\x1b\[2Jane'
says err 'A \\x1b\]0;title\\x07'
grep -q "$(printf '\033')" out err && complain "escapes of names reach the terminal"

# The command that made a result can be run again: a shell reads the same words.
odd="it's {a,b} \$HOME 'x'"
expect 0 run own.json --steps 10 --out "$odd"
eval "set -- $(sed -n 's/^  "command": "\(.*\)",$/\1/p' "$odd/result.json" | sed 's/\\\\/\\/g')"
[ "$#-$6-$7" = "7---out-$odd" ] || complain "the recorded command is another than the one that was run: $*"

# A largest file that is allowed is a full disk, with a message.
(
    ulimit -f 8
    "$program" sample proposals/cross-mala-ab-initio-2.json --draws 20000 --out large.npy >out 2>err
    echo $? >code
)
[ "$(cat code)" = 1 ] || complain "a file that is too large: exit code $(cat code): $(cat err)"
says err "large.npy.*File too large"
[ -e large.npy ] && complain "a part of a file that is too large was kept"

# ---- Completion

if command -v bash >/dev/null; then
    "$program" completion bash >complete.bash
    bash -n complete.bash || complain "bash does not accept its completion"
    # completes WORD... EXPECTED: what bash offers for the last word.
    cat >try.bash <<'END'
source ./complete.bash
COMP_WORDS=("${@:1:$#-1}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hastings 2>/dev/null
[ "${COMPREPLY[*]}" = "${!#}" ] || { echo "completing \"${COMP_WORDS[*]}\" gives \"${COMPREPLY[*]}\", not \"${!#}\""; exit 1; }
END
    completes() {
        bash try.bash "$@" || failed=1
    }
    completes hastings ru "run"
    completes hastings --ver "--version"
    completes hastings run --st "--steps --starts --stan-csv"
    completes hastings run cros "cross"
    completes hastings --quiet run cros "cross"
    completes hastings run cross --precision "" "f32 f64"
    completes hastings train --target lo "logistic"
    completes hastings train --proposal multi "multi-scheme"
    completes hastings train --objective msj "msjd"
    completes hastings train --optimizer rms "rmsprop"
    completes hastings train --steps "" ""
    completes hastings fit m "mala"
    completes hastings diagnose draws.nc "draws.nc"
    completes hastings report resu "results"
    completes hastings run --out chos "chosen"
fi
for shell in zsh fish; do
    "$program" completion $shell >complete.$shell || complain "completion $shell fails"
    if command -v $shell >/dev/null; then
        $shell -n complete.$shell || complain "$shell does not accept its completion"
    fi
done
exit $failed
