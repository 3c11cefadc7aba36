#!/bin/sh
# run.sh PROGRAM SOURCE: runs of experiments from outside. Whatever ends a run (kill -9, Ctrl-C, a full
# disk), --resume finishes it with the bits of a run that was never stopped; threads do not change a bit;
# and what makes no sense is refused.
set -u
program=$1
source=$2
scratch=$(mktemp -d)
trap 'umount "$scratch/small" 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C HASTINGS_HOME="$source"
failed=0
complain() {
    echo "$*"
    failed=1
}
# expect CODE ARGUMENT...: runs the program; what it writes is in out and err.
expect() {
    wanted=$1
    shift
    "$program" "$@" >out 2>err </dev/null
    code=$?
    [ $code -eq "$wanted" ] || complain "hastings $*: exit code $code, not $wanted: $(cat err)"
}
says() {
    grep -q -e "$2" "$1" || complain "\"$2\" is not in $1: $(cat "$1")"
}
refuses() {
    text=$1
    shift
    expect 2 run "$@"
    says err "$text"
}

# ---- The same bits

# What there is of a result besides time, and how it was started.
numbers() {
    grep -v -E '"(seconds|[a-z_]*_per_second|started|finished|threads|workers|command)"' \
        "$1/result.json"
}
files() {
    (cd "$1" && ls chains/* proposals/* figures/*)
}
# same ONE OTHER: chains, proposals, maps and figures of two runs are equal.
same() {
    numbers "$1" >one.json
    numbers "$2" >other.json
    diff one.json other.json >differences || complain "$2 has other figures than $1: $(head -n 20 differences)"
    for file in "$1"/chains/* "$1"/proposals/* "$1"/figures/*.npy; do
        [ ! -e "$file" ] || cmp "$file" "$2${file#"$1"}" || complain "$2${file#"$1"} differs from that of $1"
    done
    [ "$(files "$1")" = "$(files "$2")" ] || complain "$2 has other files than $1: $(files "$2")"
    says "$2/result.json" '"state": "complete"'
}

# start ARGUMENT...: a run in the background, whose process is $pid. Ctrl-C is ignored in such, unless told.
start() {
    : >err
    $default_signal "$program" "$@" >out 2>>err </dev/null &
    pid=$!
}
if env --default-signal=INT true 2>/dev/null; then
    default_signal="env --default-signal=INT"
    interrupt=INT
else
    default_signal=
    interrupt=TERM
    echo "env cannot reset signals here: SIGTERM stands for Ctrl-C"
fi
# stop SIGNAL CODE TEST...: ends the run when the test holds, which must be while it runs.
stop() {
    signal=$1
    wanted=$2
    shift 2
    while kill -0 $pid 2>/dev/null && ! "$@"; do
        sleep 0.02
    done
    kill -"$signal" $pid 2>/dev/null || complain "the run was over before: $*: $(cat err)"
    wait $pid 2>/dev/null
    code=$?
    [ $code -eq "$wanted" ] || complain "kill -$signal: exit code $code, not $wanted: $(cat err)"
}
is_there() {
    for file in "$@"; do
        [ -e "$file" ] || return 1
    done
}
begins() {
    grep -q "$1: begins" err
}

# Several jobs of several kinds; the first has two trainings. Long enough to be hit.
cat >several.json <<'END_OF_FILE'
{ "name": "several", "title": "Several jobs", "columns": ["acceptance", "msjd", "ess_per_proposal", "loss"],
  "figures": ["density", "weights"],
  "settings": { "steps": 6000, "starts": 2, "proposals": 5, "chains": 2, "draws": 20000, "restarts": 2,
                "replications": 2, "reference_warmup": 50 },
  "cases": [ { "name": "cross", "target": "cross",
               "proposal": "position-mixture,components=4,width=4,depth=1,clustered" } ],
  "rows": [ { "name": "GSM", "objective": "gsm-60",
              "paper": { "cross": { "acceptance": "0.5(1)", "msjd": "20(1)" } } },
            { "name": "HMC", "sampler": "hmc", "settings": { "draws": 500 } },
            { "name": "I.I.D.", "sampler": "iid", "settings": { "draws": 500 } } ] }
END_OF_FILE
training=work/cross-gsm-1.training
expect 0 run several.json --out whole --threads 1
[ -e whole/figures/cross-gsm-1-weights.npy ] || complain "there is no map of weights"
for threads in 2 3; do
    expect 0 run several.json --out "threads-$threads" --threads $threads
    same whole threads-$threads
done
# More threads than cores do no harm, and are remarked upon.
if [ "$(getconf _NPROCESSORS_ONLN)" -lt 3 ]; then
    says err "more threads will not be faster"
fi

start run several.json --out training --threads 1
stop KILL 137 is_there training/$training.try0
[ -e training/proposals/cross-gsm-1.json ] && complain "the training was over already"
expect 0 run --resume training --threads 2
same whole training

start run several.json --out second --threads 1
stop KILL 137 is_there second/$training.try1
[ -e second/proposals/cross-gsm-1.json ] && complain "the second training was over already"
start run --resume second --threads 3
stop KILL 137 is_there second/work/cross-gsm-2.training.try0
expect 0 run --resume second --threads 1
same whole second

start run several.json --out sampling --threads 2
stop KILL 137 is_there sampling/proposals/cross-gsm-1.json
[ -e sampling/work/cross-gsm-1.json ] && complain "the sampling was over already"
expect 0 run --resume sampling --threads 1
same whole sampling

start run several.json --out interrupted --threads 1
stop $interrupt 130 is_there interrupted/$training.try1
says err "to go on: hastings run --resume interrupted"
says interrupted/result.json '"state": "partial"'
[ -s interrupted/report.html ] || complain "a run that was stopped has no report"
start run --resume interrupted --threads 1
stop $interrupt 130 is_there interrupted/proposals/cross-gsm-1.json
expect 0 run --resume interrupted --threads 2
says err "of them done before\|6 jobs"
same whole interrupted
expect 0 run --resume interrupted
says err "6 of them done before"
same whole interrupted
# What is in result.json is kept when work/ is deleted, as it may be.
rm -r interrupted/work
expect 0 run --resume interrupted
says err "6 of them done before"
same whole interrupted

# A target that cannot be drawn from, trained online: its reference chain, and chains that go on.
cat >reference.json <<'END_OF_FILE'
{ "name": "reference", "title": "Reference", "columns": ["acceptance", "msjd"],
  "settings": { "steps": 6000, "starts": 2, "proposals": 5, "chains": 2, "draws": 500, "online": true,
                "reference_proposals": 60000, "reference_chains": 20, "reference_warmup": 200 },
  "cases": [ { "name": "ripley", "target": "logistic,data=ripley", "proposal": "mala,diagonal,scaled" } ],
  "rows": [ { "name": "Ab Initio", "objective": "ab-initio" } ] }
END_OF_FILE
expect 0 run reference.json --out posterior --threads 2
start run reference.json --out posterior-2 --threads 1
stop KILL 137 begins "ripley, reference chain by HMC"
[ -e posterior-2/work/reference-ripley-ab-initio-1.npy ] && complain "the reference chain was over already"
start run --resume posterior-2 --threads 2
stop $interrupt 130 begins "ripley, reference chain by HMC"
[ -e posterior-2/work/reference-ripley-ab-initio-1.npy ] && complain "half a reference chain was kept"
start run --resume posterior-2 --threads 1
stop KILL 137 is_there posterior-2/work/ripley-ab-initio-1.training.try0
[ -e posterior-2/proposals/ripley-ab-initio-1.json ] && complain "the online training was over already"
cp -r posterior-2 damaged
expect 0 run --resume posterior-2 --threads 2
same posterior posterior-2

# ---- Files that are damaged, or of something else

# damage FILE, SED COMMAND or what replaces it: resuming fails or goes on, says why, and loses nothing.
resume_fails() {
    text=$1
    expect 1 run --resume damaged
    says err "$text"
    [ -e damaged/result.json ] || complain "result.json is lost"
}
checkpoint=damaged/work/ripley-ab-initio-1.training.try0
cp $checkpoint good
head -c 100 good >$checkpoint
resume_fails "ripley-ab-initio-1.training.try0"
{
    head -c 300 good
    printf '\125'
    tail -c +302 good
} >$checkpoint
if ! cmp -s good $checkpoint; then
    resume_fails "ripley-ab-initio-1.training.try0"
fi
: >$checkpoint
resume_fails "ripley-ab-initio-1.training.try0"
cp whole/proposals/cross-gsm-1.hsp $checkpoint
resume_fails "ripley-ab-initio-1.training.try0"
cp good $checkpoint
cp damaged/work/reference-ripley-ab-initio-1.npy chain
head -c 1000 chain >damaged/work/reference-ripley-ab-initio-1.npy
resume_fails "reference-ripley-ab-initio-1.npy"
echo nonsense >damaged/work/reference-ripley-ab-initio-1.npy
resume_fails "reference-ripley-ab-initio-1.npy"
cp whole/figures/cross-gsm-1-weights.npy damaged/work/reference-ripley-ab-initio-1.npy
resume_fails "of another run"
cp chain damaged/work/reference-ripley-ab-initio-1.npy
for record in '{ "id": ' '[]' '{ "id": "ripley-ab-initio-1" }' '{ "id": 3, "state": [] }' \
    '{ "id": "other-1", "state": "done", "figures": { "acceptance": 7 } }' \
    '{ "id": "ripley-ab-initio-1", "state": "partial", "figures": 3 }' \
    '{ "id": "ripley-ab-initio-1", "case": "ripley", "row": "Ab Initio", "replication": 1, "seed": 1,
       "state": "done", "error": "", "figures": { "acceptance": "high" } }'; do
    rm -rf record
    cp -r damaged record
    echo "$record" >record/work/ripley-ab-initio-1.json
    expect 0 run --resume record
    same posterior record
done
rm $checkpoint $checkpoint.*
expect 0 run --resume damaged
same posterior damaged

# edited SED COMMAND TEXT: a result.json that something was done to is refused.
edited() {
    rm -rf edited
    cp -r posterior edited
    sed "$1" posterior/result.json >edited/result.json
    cmp -s posterior/result.json edited/result.json && complain "$1 changes nothing"
    cp edited/result.json before
    expect 1 run --resume edited
    says err "$2"
    cmp before edited/result.json || complain "a result that was refused was changed"
}
edited 's/"hastings": "[^"]*"/"hastings": "0.0.0"/' "begun by version 0.0.0 of hastings"
edited 's/"hastings-result"/"another"/' "not the result of a run"
edited 's/"version": 1,/"version": 2,/' "not the result of a run"
edited 's/"experiment": {/"experiments": {/' "does not say what was run"
edited 's/"cases": \[/"cases": 3, "kases": [/' "edited/result.json"
edited 's/"target": "logistic,data=ripley"/"target": 7/' "must be text"
edited 's/"objective": "ab-initio"/"objective": "ab-inito"/' "ab-inito"
edited 's/"proposal": "mala,diagonal,scaled"/"proposal": "mal"/' "did you mean"
edited 's/"steps": 6000/"steps": -6000/' "steps"
edited '$d' "result.json, line"
: >edited/result.json
expect 1 run --resume edited
rm edited/result.json
expect 1 run --resume edited
says err "edited/result.json"
expect 1 run --resume nowhere
says err "nowhere/result.json"

# ---- A full disk

mkdir small
if mount -t tmpfs -o size=200k hastings-test small 2>/dev/null; then
    cat >disk.json <<'END_OF_FILE'
{ "name": "disk", "title": "Disk", "columns": ["acceptance", "msjd"],
  "settings": { "steps": 50, "starts": 1, "proposals": 5, "chains": 1, "draws": 1000 },
  "cases": [ { "name": "plane", "target": "gaussian", "proposal": "random-walk" } ],
  "rows": [ { "name": "few", "objective": "msjd", "settings": { "draws": 50 } },
            { "name": "many", "objective": "msjd", "settings": { "draws": 20000 } } ] }
END_OF_FILE
    expect 0 run disk.json --out roomy
    expect 1 run disk.json --out small/out --threads 1
    says err "No space left on device"
    [ -s small/out/result.json ] || complain "result.json was lost on a full disk: $(ls -lR small)"
    [ -s small/out/work/plane-few-1.json ] || complain "a job that was done was lost: $(ls -lR small)"
    find small -name '*.tmp' | grep -q . && complain "half a file is left on a full disk: $(ls -lR small)"
    mount -o remount,size=20m small
    expect 0 run --resume small/out
    says err "1 of them done before"
    same roomy small/out
    umount small
else
    echo "a small disk cannot be mounted here: running out of space is not tested"
fi
echo text >file
expect 1 run several.json --out file
says err "file"
expect 1 run several.json --out file/below
says err "file"
expect 1 run several.json --out /proc/nothing/here
mkdir taken empty
echo text >taken/notes
refuses "something in this folder already" several.json --out taken
[ "$(ls taken)" = notes ] || complain "a folder that was refused was written to"
expect 2 run several.json --out empty --objective nonsense
[ -d empty ] || complain "the user's own folder was removed"

# ---- What makes no sense on the command line

refuses 'no experiment "crss"; did you mean "cross"' crss
refuses "no experiment" ""
refuses "which experiment"
refuses "did you mean --draws" cross --drawz 3
refuses "one argument too many" cross verify
for option in steps starts proposals replications restarts chains draws threads; do
    refuses "$option" cross --$option 0 --out never
    refuses "$option" cross --$option -3 --out never
    refuses "$option" cross --$option many --out never
done
refuses "draws must be a whole number of at least 4" cross --draws 1 --out never
refuses "replications must be a whole number of at most" cross --replications 1000000 --out never
refuses "restarts must be a whole number of at most" cross --restarts 65 --out never
refuses "rate" cross --rate 0 --out never
refuses "precision" cross --precision f16 --out never
refuses 'objective "msdj".*there are ab-initio' cross --objective msdj --out never
refuses "objective" cross --objective msjd,,gsm-60 --out never
refuses 'no case is called "L=9"; there are: L=8, L=3' cross --case L=9 --out never
refuses 'no case is called "M\*"' cross --case "L=8,M*" --out never
refuses "label" german --label class --out never
refuses "no target that takes a data set" cross --data "$source/data/ripley.csv" --out never
refuses "cannot be changed by --resume" --resume whole --steps 3
refuses "one too many" cross --resume whole
[ -e never ] && complain "a command that was refused made a folder"

# ---- Experiment files

# file TEXT EXPECTED: a file is refused.
file() {
    printf '%s' "$1" >wrong.json
    refuses "$2" wrong.json
}
file '{ "name": "x",
  "cases": [ 1 2 ] }' "wrong.json, line 2, column"
file '' "wrong.json, line 1"
file '[]' "an object was expected"
file '{ "name": "x", "name": "y" }' "line 1, column .*duplicate"
file '{ "nmae": "x" }' 'no key "nmae"; did you mean "name"'
refuses "nothere.json" nothere.json
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "["; }' >wrong.json
refuses "wrong.json, line 1" wrong.json
sed 's/"name": "several"/"name": "..\/..\/away"/' several.json >wrong.json
refuses "slash" wrong.json

# Names are not paths.
cat >names.json <<'END_OF_FILE'
{ "name": "na mes", "title": "\"Quotes\" <b>&amp;", "columns": ["acceptance"],
  "settings": { "steps": 10, "starts": 1, "proposals": 2, "chains": 1, "draws": 10,
                "reference_proposals": 200, "reference_chains": 2, "reference_warmup": 20 },
  "cases": [ { "name": "../../../../away", "target": "gaussian", "proposal": "random-walk" },
             { "name": "心", "target": "logistic,data=heart", "proposal": "random-walk" },
             { "name": "肝", "target": "logistic,data=ripley", "proposal": "random-walk" },
             { "name": "a,b", "target": "gaussian", "proposal": "random-walk" } ],
  "rows": [ { "name": "/etc/\"x\"", "objective": "msjd" }, { "name": "..", "objective": "msjd" } ] }
END_OF_FILE
expect 0 run names.json
[ "$(ls "results/na mes/chains" | wc -l)" = 8 ] || complain "there are not 8 chains: $(ls -R results)"
[ "$(find "results/na mes/work" -mindepth 1 -maxdepth 1 -name "*reference*" | wc -l)" = 2 ] || complain "targets share a reference chain"
find . -name '*away*' | grep -v "na mes/" | grep -q . && complain "a name left its folder"
expect 0 run names.json --case a,b --json
says out '"folder": "results/na mes-2"'

# ---- Data of one's own

{
    echo "ill,age,weight"
    for i in 1 2 3 4 5 6 7 8 9; do
        echo "$((i % 2)),$((i * 7 % 10)),$i"
    done
} >own.csv
own="--out never --threads 1"
sed 's/"online": true,//; s/logistic,data=ripley/logistic,data=german,augment=2,prior_sd=3/;
     s/"steps": 6000/"steps": 20/; s/60000/500/' reference.json >regression.json
expect 0 run regression.json --data own.csv --label ill --out own --threads 1
says own/result.json "logistic,augment=2,prior_sd=3,data=./own.csv,label=ill"
grep -q data=german own/result.json && complain "the experiment's own data were used"
# wrong TEXT SED COMMAND: data that something was done to are refused.
wrong_data() {
    sed "$2" own.csv >bad.csv
    # shellcheck disable=SC2086
    refuses "$1" regression.json --data bad.csv --label ill $own
}
wrong_data 'bad.csv, line 3, column 2 (age).*"x4" is not a number; categories' '3s/,./,x4/'
wrong_data 'bad.csv, line 4, column 3 (weight).*missing' '4s/,[^,]*$/,/'
wrong_data 'bad.csv, line 5, column 2 (age).*missing (NA)' '5s/,[^,]*,/,NA,/'
wrong_data 'bad.csv, line 6 has 2 columns, the header has 3' '6s/,[^,]*$//'
wrong_data 'bad.csv, line 2, column 1 (ill).*expected 0 or 1' '2s/^./2/'
wrong_data 'bad.csv' '2,$s/^./1/'
wrong_data 'column is called "ill"' '1s/ill/sick/'
wrong_data 'weight' '2,$s/,[^,]*$/,5/'
# shellcheck disable=SC2086
{
    expect 1 run regression.json --data nowhere.csv $own
    says err "nowhere.csv"
    cp own.csv a,b.csv
    refuses "comma" regression.json --data a,b.csv $own
    odd=$(printf 'odd\377.csv')
    if cp own.csv "$odd" 2>/dev/null; then
        refuses "UTF-8" regression.json --data "$odd" --label ill $own
    fi
}
[ -e never ] && complain "data that were refused made a folder"
exit $failed
