/*
 * Gradient steps and transitions of the paper's experiments: Hastings beside PyTorch and JAX, and beside what the
 * machine can do.
 *
 *     steps [--cases A,B] [--objectives A,B] [--types f32,f64] [--peer-objectives A,B] [--peer-types A,B]
 *           [--parts checks,steps,sampling,first,scaling] [--seconds S] [--rounds N] [--json FILE]
 *     steps --dump CASE OBJECTIVE f32|f64 FOLDER      inputs, loss and gradient, for peers
 *     steps --first CASE                              one gradient step, for the time that a process takes to it
 *     steps --report JSON NOTES MARKDOWN SVG          the page docs/performance.md and its chart
 *
 * All contenders take turns in rounds, so that what else the machine does hits them alike; figures are medians over
 * the rounds. Peers run where python3 has torch or jax, and must first compute the same loss and gradient. The result is
 * JSON, of which --report makes docs/performance.md and its chart. FILE is written after every case, and what it has from
 * a run before, with the same instruction set and number of threads, stays until the same is measured again.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "cases.h"
#include "machine.h"
#include "measure.h"
#include "report.h"

enum { MAX_ROUNDS = 50, PEERS = 2, WAYS = 2 };

static const char *const part_names[] = { "checks", "steps", "sampling", "first", "scaling" };
enum { PARTS = sizeof part_names / sizeof *part_names };

typedef struct {
    const char *cases, *objectives, *peer_objectives, *types, *peer_types, *parts, *json;
    double seconds;
    int rounds, threads[WAYS]; /* one, and all */
    const char *self;          /* the program's own path */
    char folder[64];           /* for dumps */
    json_t *result;            /* of this run, and of those before that are in the file */
} settings;

static const char *const peer_names[PEERS] = { "torch", "jax" };
static const char *const peer_scripts[PEERS] = { HS_PEERS "/steps_torch.py",
                                                 HS_PEERS "/steps_jax.py" };

typedef struct {
    peer process[PEERS][WAYS];
    char version[PEERS][64];
} contenders;

/* Whether a word is in a list with commas; NULL is the list of all words. */
static bool listed(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return !list;
}

/* Numbers that are not finite become null, which JSON has. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *median_of(double *samples, int n)
{
    return number(median(samples, (size_t)n));
}

/* Writes a new file and then puts it in the place of the old: there is a whole one at any time. */
static bool save(const settings *set)
{
    const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(6);
    char part[4096] = "";
    bool ok;
    if (set->json) {
        const int length = snprintf(part, sizeof part, "%s.part", set->json);
        ok = length < (int)sizeof part && json_dump_file(set->result, part, flags) == 0 &&
             rename(part, set->json) == 0;
    } else {
        ok = json_dumpf(set->result, stdout, flags) == 0;
    }
    if (!ok)
        fprintf(stderr, "%s: cannot write it: %s\n", set->json ? set->json : "standard output",
                strerror(errno));
    return ok;
}

/* Whether two rows agree in what a row is of. */
static bool is_of_same(const json_t *a, const json_t *b)
{
    static const char *const keys[] = { "case", "objective", "type",
                                        "kind", "chains",    "what", "size" };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *x = json_object_get(a, keys[k]), *y = json_object_get(b, keys[k]);
        if ((x || y) && !json_equal(x, y))
            return false;
    }
    return true;
}

/* Puts a row in the place of the one that was measured before, or at the end, and saves what there is: a run takes long,
 * and may be stopped. */
static void put_row(const settings *set, const char *part, json_t *row)
{
    json_t *list = json_object_get(set->result, part);
    size_t at = 0;
    while (at < json_array_size(list) && !is_of_same(json_array_get(list, at), row))
        at++;
    if (at < json_array_size(list))
        json_array_set_new(list, at, row);
    else
        json_array_append_new(list, row);
    if (strcmp(part, "checks") != 0)
        json_object_set_new(json_object_get(set->result, "rounds"), part,
                            json_pack("[i, f]", set->rounds, set->seconds));
    if (set->json)
        save(set);
}

static const char *threads_key(const settings *set, int way)
{
    static char text[WAYS][16];
    snprintf(text[way], sizeof text[way], "%d", set->threads[way]);
    return text[way];
}

/* Asks a peer; returns the numbers in its answer, and complains about an answer without any. */
static int ask(peer *p, const char *name, double *numbers, int most, const char *line)
{
    char text[256] = "";
    const int n = peer_ask_text(p, line, numbers, most, text, sizeof text);
    if (n == 0)
        fprintf(stderr, "%s, \"%s\": %s\n", name, line, text[0] ? text : "no answer");
    return n;
}

/* ---- Gradient steps ------------------------------------------------------------------------- */

/* Opens a case at a peer, in the way of that name if it is not ""; false after a message. */
static bool open_at(const settings *set, peer *p, const char *who, const bench_case *c,
                    const char *objective, hs_dtype dtype, const char *variant,
                    double difference[2], char *chosen, size_t size)
{
    char line[256], text[256] = "";
    snprintf(line, sizeof line, "open %s%s%s", set->folder, *variant ? " # " : "", variant);
    if (peer_ask_text(p, line, difference, 2, text, sizeof text) != 2) {
        fprintf(stderr, "%s, %s: %s\n", who, c->name, text);
        return false;
    }
    const double worst = dtype == HS_F32 ? 1e-4 : 1e-9;
    if (difference[0] > worst || difference[1] > worst)
        fprintf(stderr, "%s differs in %s, %s, %s: loss by %g, gradient by %g\n", who, c->name,
                objective, hs_dtype_name(dtype), difference[0], difference[1]);
    const char *name = strchr(text, '#');
    snprintf(chosen, size, "%s", name ? name + 2 : "");
    return true;
}

/* Opens the case at the peers, and notes how they differ; `open` tells who has it. What is fastest on one thread, with
 * the first objective, is taken for all. */
static json_t *open_at_peers(const settings *set, contenders *all, const bench_case *c,
                             const char *objective, hs_dtype dtype, bool open[PEERS][WAYS])
{
    static char chosen[PEERS][128];
    static const bench_case *of;
    json_t *differences = json_object();
    if (!problem_dump(c, objective, dtype, set->folder))
        return differences;
    if (of != c)
        memset(chosen, 0, sizeof chosen);
    of = c;
    for (int p = 0; p < PEERS; p++) {
        char *variant = chosen[p], key[32];
        for (int way = 0; way < WAYS; way++) {
            double d[2];
            peer *process = &all->process[p][way];
            if (!process->to || (set->threads[1] == 1 && way))
                continue;
            open[p][way] = open_at(set, process, peer_names[p], c, objective, dtype, variant, d,
                                   variant, sizeof chosen[p]);
            if (!open[p][way])
                continue;
            snprintf(key, sizeof key, "%s %s", peer_names[p], threads_key(set, way));
            json_object_set_new(differences, key,
                                json_pack("{s:o, s:o, s:s}", "loss", number(d[0]), "gradient",
                                          number(d[1]), "variant", variant));
        }
    }
    return differences;
}

/* Every case with every objective in both types: PyTorch as it is, and our loss and gradient. */
static void measure_checks(const settings *set, contenders *all)
{
    const bench_case *c;
    const char *objective;
    peer *torch = &all->process[0][0];
    for (size_t i = 0; torch->to && (c = bench_case_at(i)); i++)
        for (size_t k = 0;
             listed(set->cases, c->name) && !c->rows && (objective = bench_objective_name(k)); k++)
            for (int dtype = HS_F32; dtype <= HS_F64; dtype++) {
                double d[2];
                char variant[128] = "";
                if (problem_dump(c, objective, (hs_dtype)dtype, set->folder) &&
                    open_at(set, torch, "torch", c, objective, (hs_dtype)dtype, "eager", d, variant,
                            sizeof variant))
                    put_row(set, "checks", json_pack("{s:s, s:s, s:s, s:o, s:o}", "case",
                                                          c->name, "objective", objective, "type",
                                                          hs_dtype_name((hs_dtype)dtype), "loss",
                                                          number(d[0]), "gradient", number(d[1])));
            }
}

static json_t *measure_case(const settings *set, contenders *all, const bench_case *c,
                            const char *objective, hs_dtype dtype)
{
    static double ours[WAYS][MAX_ROUNDS], theirs[PEERS][WAYS][MAX_ROUNDS], peak[WAYS][MAX_ROUNDS];
    static double read[WAYS][MAX_ROUNDS], update[WAYS][MAX_ROUNDS], plain[WAYS][MAX_ROUNDS];
    const bool memory_bound = c->rows > 0;
    bool open[PEERS][WAYS] = { { false } };
    /* PyTorch again, without its compiler, once for each case. */
    const bool with_plain = !memory_bound && strcmp(objective, bench_objective_name(0)) == 0;
    json_t *differences =
        listed(set->peer_objectives, objective) && listed(set->peer_types, hs_dtype_name(dtype))
            ? open_at_peers(set, all, c, objective, dtype, open)
            : json_object();
    stepper s[WAYS];
    bool ok = true;
    for (int way = 0; way < WAYS; way++) {
        s[way] = (stepper){ 0 };
        if (ok && (way == 0 || !memory_bound)) /* one copy of very many parameters is enough */
            ok = stepper_open(&s[way], c, objective, dtype, set->threads[way]);
    }
    if (!ok) {
        json_decref(differences);
        return NULL;
    }
    const hs_plan_facts facts = hs_plan_describe(s[0].batch.plan);
    const size_t parameters = hs_params_size(hs_proposal_params(s[0].problem.proposal));
    const size_t normals = c->starts * c->proposals * hs_target_dim(s[0].problem.target);
    for (int r = 0; r < set->rounds; r++)
        for (int way = 0; way < WAYS; way++) {
            if (!memory_bound || way == 0)
                ours[way][r] = time_call(stepper_run, &s[way], set->seconds);
            for (int p = 0; p < PEERS; p++) {
                char line[64];
                theirs[p][way][r] = (double)NAN;
                snprintf(line, sizeof line, "run %g", set->seconds);
                if (open[p][way])
                    ask(&all->process[p][way], peer_names[p], &theirs[p][way][r], 1, line);
            }
            plain[way][r] = (double)NAN;
            if (with_plain && open[0][way]) {
                char line[64];
                snprintf(line, sizeof line, "plain %g", set->seconds);
                ask(&all->process[0][way], peer_names[0], &plain[way][r], 1, line);
            }
            peak[way][r] = machine_peak(dtype, set->threads[way]);
            if (memory_bound) {
                read[way][r] = machine_read(set->threads[way]);
                update[way][r] = machine_update(set->threads[way]);
            }
        }
    if (memory_bound) {
        stepper_close(&s[0]);
        if (stepper_open(&s[1], c, objective, dtype, set->threads[1]))
            for (int r = 0; r < set->rounds; r++)
                ours[1][r] = time_call(stepper_run, &s[1], set->seconds);
    }
    json_t *times = json_object(), *peaks = json_object(), *reads = json_object(),
           *updates = json_object();
    for (int way = 0; way < WAYS; way++) {
        char key[32];
        const char *threads = threads_key(set, way);
        snprintf(key, sizeof key, "hastings %s", threads);
        json_object_set_new(times, key, median_of(ours[way], set->rounds));
        json_object_set_new(peaks, threads, median_of(peak[way], set->rounds));
        for (int p = 0; p < PEERS; p++)
            if (open[p][way]) {
                snprintf(key, sizeof key, "%s %s", peer_names[p], threads);
                json_object_set_new(times, key, median_of(theirs[p][way], set->rounds));
            }
        if (with_plain && open[0][way]) {
            snprintf(key, sizeof key, "torch plain %s", threads);
            json_object_set_new(times, key, median_of(plain[way], set->rounds));
        }
        if (memory_bound) {
            json_object_set_new(reads, threads, median_of(read[way], set->rounds));
            json_object_set_new(updates, threads, median_of(update[way], set->rounds));
        }
    }
    for (int way = 0; way < WAYS; way++)
        stepper_close(&s[way]);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:I, s:I, s:I}", "case",
                     c->name, "title", c->title, "objective", objective, "type",
                     hs_dtype_name(dtype), "seconds", times, "differences", differences,
                     "peak_gflops", peaks, "read_gbs", reads, "update_gbs", updates, "flops",
                     facts.flops, "parameters", (json_int_t)parameters, "shards",
                     (json_int_t)facts.shards, "normals", (json_int_t)normals);
}

static void measure_steps(const settings *set, contenders *all)
{
    const bench_case *c;
    const char *objective;
    for (size_t i = 0; (c = bench_case_at(i)); i++)
        for (size_t k = 0; listed(set->cases, c->name) && (objective = bench_objective_name(k));
             k++)
            for (int dtype = HS_F32; dtype <= HS_F64; dtype++) {
                if (!listed(set->objectives, objective) ||
                    !listed(set->types, hs_dtype_name((hs_dtype)dtype)) ||
                    (c->rows &&
                     dtype ==
                         HS_F64)) /* 8 bytes for each of 174 million parameters, many times over */
                    continue;
                fprintf(stderr, "%s, %s, %s\n", c->name, objective, hs_dtype_name((hs_dtype)dtype));
                json_t *row = measure_case(set, all, c, objective, (hs_dtype)dtype);
                if (row)
                    put_row(set, "steps", row);
            }
}

/* ---- Chains --------------------------------------------------------------------------------- */

static json_t *measure_chains(const settings *set, contenders *all, const bench_case *c,
                              const char *kind, size_t count)
{
    static double ours[WAYS][MAX_ROUNDS], theirs[PEERS][WAYS][MAX_ROUNDS], peak[WAYS][MAX_ROUNDS];
    static double exponentials[WAYS][MAX_ROUNDS];
    double accepted[PEERS][WAYS]; /* of all rounds */
    chains mine[WAYS];
    bool ok = true, answered[PEERS][WAYS] = { { false } };
    for (int way = 0; way < WAYS; way++) {
        mine[way] = (chains){ 0 };
        ok = ok && chains_open(&mine[way], c, kind, count, HS_F32, set->threads[way]);
    }
    bool peers = false;
    for (int p = 0; p < PEERS; p++)
        peers = peers || all->process[p][0].to;
    peers = ok && peers && chains_dump(&mine[0], kind, set->folder);
    for (int r = 0; ok && r < set->rounds; r++)
        for (int way = 0; way < WAYS; way++) {
            ours[way][r] = (double)count / time_call(chains_run, &mine[way], set->seconds);
            peak[way][r] = machine_peak(HS_F32, set->threads[way]);
            exponentials[way][r] = machine_exponentials(set->threads[way]);
            for (int p = 0; p < PEERS && peers; p++)
                if (all->process[p][way].to && !(set->threads[1] == 1 && way)) {
                    char line[160];
                    double answer[2] = { (double)NAN, (double)NAN };
                    snprintf(line, sizeof line, "sample %zu f32 %g %s", count, set->seconds,
                             set->folder);
                    answered[p][way] =
                        ask(&all->process[p][way], peer_names[p], answer, 2, line) == 2;
                    theirs[p][way][r] = answer[0];
                    accepted[p][way] = answer[1];
                }
        }
    const double acceptance = mine[0].accepted / (double)mine[0].step;
    /* Between acceptance rates; of a dozen transitions, noise alone makes more than 0.1. */
    const double bound = 0.1 + 0.5 / sqrt((double)mine[0].step * (double)count);
    json_t *rates = json_object(), *peaks = json_object(), *exps = json_object(),
           *acceptances = json_object();
    for (int way = 0; ok && way < WAYS; way++) {
        char key[32];
        snprintf(key, sizeof key, "hastings %s", threads_key(set, way));
        json_object_set_new(rates, key, median_of(ours[way], set->rounds));
        json_object_set_new(peaks, threads_key(set, way), median_of(peak[way], set->rounds));
        json_object_set_new(exps, threads_key(set, way), median_of(exponentials[way], set->rounds));
        for (int p = 0; p < PEERS; p++)
            if (answered[p][way]) {
                snprintf(key, sizeof key, "%s %s", peer_names[p], threads_key(set, way));
                json_object_set_new(rates, key, median_of(theirs[p][way], set->rounds));
                json_object_set_new(acceptances, key, number(accepted[p][way]));
                if (!(fabs(accepted[p][way] - acceptance) <= bound)) /* or one is no number */
                    fprintf(stderr, "%s accepts %.3g of %s, %s, %zu chains, and we %.3g\n", key,
                            accepted[p][way], c->name, kind, count, acceptance);
            }
    }
    const double flops = ok ? hs_plan_describe(mine[0].sampler.plan).flops / (double)count : 0;
    const size_t rows = ok && mine[0].problem.data ? mine[0].problem.data->rows : 0;
    /* One for each row of the data in each evaluation of the posterior, which is one of its score as well. */
    const size_t exps_each = rows * (strcmp(kind, "hmc") == 0 ? HMC_LEAPFROGS : 1);
    for (int way = 0; way < WAYS; way++)
        chains_close(&mine[way]);
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:f, s:I}", "case", c->name,
                     "title", c->title, "kind", kind, "chains", (json_int_t)count, "per_second",
                     rates, "acceptance", number(acceptance), "peer_acceptance", acceptances,
                     "peak_gflops", peaks, "giga_exponentials", exps, "flops", flops,
                     "exponentials", (json_int_t)exps_each);
}

static void measure_sampling(const settings *set, contenders *all)
{
    static const char *const kinds[] = { "random-walk", "mala", "hmc", "multi-scheme" };
    static const char *const names[] = { "german", "mnist" };
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 4; k++)
            for (size_t count = 1; count <= 100; count *= 100) {
                if (!listed(set->cases, names[c]))
                    continue;
                fprintf(stderr, "sampling: %s, %s, %zu chains\n", names[c], kinds[k], count);
                put_row(set, "sampling", measure_chains(set, all, bench_case_named(names[c]), kinds[k], count));
            }
}

/* ---- A process's first step ----------------------------------------------------------------- */

/* Seconds and peak memory (MB) of a process; NaN if it fails. Its memory is never less than ours was when it began. */
static void time_process(const char *const *arguments, double *seconds, double *megabytes)
{
    const double begin = seconds_now();
    const pid_t child = fork();
    if (child == 0) {
        close(STDOUT_FILENO);
        execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    int status = -1;
    struct rusage usage = { 0 };
    if (child > 0)
        wait4(child, &status, 0, &usage);
    const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    *seconds = ok ? seconds_now() - begin : (double)NAN;
    *megabytes = ok ? (double)usage.ru_maxrss / 1024 : (double)NAN;
}

static void measure_first(const settings *set)
{
    const bench_case *c;
    for (size_t i = 0; (c = bench_case_at(i)); i++) {
        if (!listed(set->cases, c->name))
            continue;
        fprintf(stderr, "first step: %s\n", c->name);
        static double seconds[1 + PEERS][MAX_ROUNDS], megabytes[1 + PEERS][MAX_ROUNDS];
        double unused, dumped; /* NaN if it fails */
        time_process(
            (const char *[]){ set->self, "--dump", c->name, "ab-initio", "f32", set->folder, NULL },
            &unused, &dumped);
        const int rounds = c->rows ? 1 : set->rounds;
        for (int r = 0; r < rounds; r++) {
            const char *own[] = { set->self, "--first", c->name, NULL };
            time_process(own, &seconds[0][r], &megabytes[0][r]);
            for (int p = 0; p < PEERS; p++) {
                const char *theirs[] = { "python3", peer_scripts[p], threads_key(set, 1),
                                         "--first", set->folder,     NULL };
                seconds[1 + p][r] = megabytes[1 + p][r] = (double)NAN;
                if (!isnan(dumped))
                    time_process(theirs, &seconds[1 + p][r], &megabytes[1 + p][r]);
            }
        }
        json_t *s = json_object(), *m = json_object();
        for (int who = 0; who <= PEERS; who++) {
            const char *name = who ? peer_names[who - 1] : "hastings";
            json_object_set_new(s, name, median_of(seconds[who], rounds));
            json_object_set_new(m, name, median_of(megabytes[who], rounds));
        }
        put_row(set, "first", json_pack("{s:s, s:s, s:o, s:o}", "case", c->name, "title",
                                              c->title, "seconds", s, "megabytes", m));
    }
}

static int first_step(const char *name)
{
    const bench_case *c = bench_case_named(name);
    stepper s;
    if (!c || !stepper_open(&s, c, "ab-initio", HS_F32, 0))
        return 1;
    stepper_run(&s);
    printf("%.9g\n", hs_plan_scalar(s.batch.plan, s.batch.loss));
    stepper_close(&s);
    return 0;
}

/* ---- Scaling -------------------------------------------------------------------------------- */

static void scale_one(const settings *set, const char *what, bench_case c, size_t size,
                      int threads)
{
    stepper s;
    static double samples[MAX_ROUNDS];
    if (stepper_open(&s, &c, "ab-initio", HS_F32, threads)) {
        for (int r = 0; r < set->rounds; r++)
            samples[r] = time_call(stepper_run, &s, set->seconds);
        put_row(set, "scaling", json_pack("{s:s, s:s, s:I, s:o}", "what", what, "case", c.name,
                                              "size", (json_int_t)size, "seconds",
                                              median_of(samples, set->rounds)));
    }
    stepper_close(&s);
}

/* One thing at a time is doubled; and more threads than cores. */
static void measure_scaling(const settings *set)
{
    const bench_case cross = *bench_case_named("cross8"), mnist = *bench_case_named("mnist");
    fprintf(stderr, "scaling\n");
    for (size_t k = 1; k <= 8; k *= 2) {
        bench_case c = cross;
        c.proposals = 50 * k;
        scale_one(set, "proposals", c, c.proposals, 1);
        c = cross;
        c.starts = 4 * k;
        scale_one(set, "starts", c, c.starts, 1);
        c = cross;
        c.couplings = 4 * k;
        scale_one(set, "couplings", c, c.couplings, 1);
        c = mnist;
        c.name = "regression";
        c.rows = 500 * k;
        c.dim = 20;
        c.couplings = 2;
        c.width = 40;
        c.starts = 8;
        c.proposals = 100;
        scale_one(set, "data rows", c, c.rows, 1);
    }
    for (int threads = 1; threads <= 8; threads *= 2) {
        scale_one(set, "threads", cross, (size_t)threads, threads);
        scale_one(set, "threads", *bench_case_named("heart"), (size_t)threads, threads);
    }
}

/* ---- The program ---------------------------------------------------------------------------- */

static int usage(int code)
{
    fprintf(code ? stderr : stdout,
            "usage: bench_steps [--cases A,B] [--objectives A,B] "
            "[--peer-objectives A,B] [--types f32,f64] [--peer-types f32]\n"
            "                   [--parts checks,steps,sampling,first,scaling] "
            "[--seconds S] [--rounds N] [--json FILE]\n"
            "       bench_steps --dump CASE OBJECTIVE f32|f64 FOLDER\n"
            "       bench_steps --first CASE\n"
            "       bench_steps --report JSON NOTES MARKDOWN SVG\n"
            "Cases:");
    for (size_t i = 0; bench_case_at(i); i++)
        fprintf(code ? stderr : stdout, " %s", bench_case_at(i)->name);
    fprintf(code ? stderr : stdout, "\nObjectives: ab-initio msjd l2hmc gsm\n");
    return code;
}

static int dump(char **arguments)
{
    const bench_case *c = bench_case_named(arguments[0]);
    hs_objective objective;
    if (!c || !bench_objective(arguments[1], &objective))
        return usage(2);
    return problem_dump(c, arguments[1], strcmp(arguments[2], "f64") == 0 ? HS_F64 : HS_F32,
                        arguments[3])
               ? 0
               : 1;
}

/* Removes the folder with dumped cases. */
static void remove_folder(const char *folder)
{
    DIR *list = opendir(folder);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            remove(path);
    }
    if (list)
        closedir(list);
    rmdir(folder);
}

/* What the file has already, or nothing yet; NULL after a message if it is of another machine. */
static json_t *load_result(const settings *set)
{
    json_t *result = set->json ? json_load_file(set->json, 0, NULL) : NULL;
    if (!result)
        result = json_pack("{s:s, s:i, s:{}, s:{}}", "isa", hs_isa_name(hs_cpu_isa()), "threads",
                           set->threads[1], "rounds", "peers");
    for (int i = 0; i < PARTS; i++)
        if (!json_object_get(result, part_names[i]))
            json_object_set_new(result, part_names[i], json_array());
    const char *isa = json_string_value(json_object_get(result, "isa"));
    const json_int_t threads = json_integer_value(json_object_get(result, "threads"));
    if (isa && strcmp(isa, hs_isa_name(hs_cpu_isa())) == 0 && threads == set->threads[1])
        return result;
    fprintf(
        stderr,
        "%s: has figures of %s with %d threads, and this run is %s with %d: name another file\n",
        set->json, isa ? isa : "an unknown machine", (int)threads, hs_isa_name(hs_cpu_isa()),
        set->threads[1]);
    json_decref(result);
    return NULL;
}

/* Reads the options; false if one is unknown, or has no value. */
static bool read_options(settings *set, int argc, char **argv)
{
    const struct {
        const char *name, **text;
    } options[] = { { "--cases", &set->cases },
                    { "--objectives", &set->objectives },
                    { "--types", &set->types },
                    { "--peer-types", &set->peer_types },
                    { "--peer-objectives", &set->peer_objectives },
                    { "--parts", &set->parts },
                    { "--json", &set->json } };
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool known = false;
        for (size_t k = 0; k < sizeof options / sizeof *options && value; k++)
            if (strcmp(name, options[k].name) == 0) {
                *options[k].text = value;
                known = true;
            }
        if (value && strcmp(name, "--seconds") == 0)
            set->seconds = atof(value), known = true;
        if (value && strcmp(name, "--rounds") == 0)
            set->rounds = atoi(value), known = true;
        if (!known)
            return false;
    }
    return set->seconds > 0 && set->rounds >= 1 && set->rounds <= MAX_ROUNDS;
}

/* Starts the peers, if a part wants them, and notes their versions. */
static void start_peers(const settings *set, contenders *all)
{
    json_t *versions = json_object_get(set->result, "peers");
    if ((set->peer_objectives && !set->peer_objectives[0]) ||
        !(listed(set->parts, "steps") || listed(set->parts, "sampling") ||
          listed(set->parts, "checks")))
        return;
    for (int p = 0; p < PEERS; p++)
        for (int way = 0; way < WAYS; way++)
            if (peer_start_with(&all->process[p][way], peer_scripts[p], threads_key(set, way),
                                all->version[p], sizeof all->version[p]))
                json_object_set_new(versions, peer_names[p], json_string(all->version[p]));
            else
                fprintf(stderr, "no %s: its columns stay empty\n", peer_names[p]);
}

/* Measures the parts that are wanted. */
static void measure(const settings *set)
{
    static contenders all;
    if (listed(set->parts, "first")) /* while there is little memory: see time_process() */
        measure_first(set);
    start_peers(set, &all);
    if (listed(set->parts, "checks"))
        measure_checks(set, &all);
    if (listed(set->parts, "steps"))
        measure_steps(set, &all);
    if (listed(set->parts, "sampling"))
        measure_sampling(set, &all);
    for (int p = 0; p < PEERS; p++)
        for (int way = 0; way < WAYS; way++)
            peer_stop(&all.process[p][way]);
    if (listed(set->parts, "scaling"))
        measure_scaling(set);
}

int main(int argc, char **argv)
{
    settings set = { .seconds = 0.3,
                     .rounds = 5,
                     .peer_types = "f32",
                     .threads = { 1, hs_threads_default() },
                     .self = argv[0],
                     .folder = "/tmp/hastings_bench_XXXXXX" };
    if (argc == 6 && strcmp(argv[1], "--dump") == 0)
        return dump(argv + 2);
    if (argc == 3 && strcmp(argv[1], "--first") == 0)
        return first_step(argv[2]);
    if (argc == 6 && strcmp(argv[1], "--report") == 0)
        return report_write(argv[2], argv[3], argv[4], argv[5]) ? 0 : 1;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(0);
    if (!read_options(&set, argc, argv))
        return usage(2);
    set.result = load_result(&set);
    if (!set.result)
        return 2;
    if (!mkdtemp(set.folder)) {
        fprintf(stderr, "%s: cannot make it: %s\n", set.folder, strerror(errno));
        return 1;
    }
    measure(&set);
    remove_folder(set.folder);
    const bool saved = save(&set);
    json_decref(set.result);
    return !saved;
}
