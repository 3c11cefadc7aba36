#include <math.h>
#include <string.h>

#include "cases.h"
#include "machine.h"
#include "parts.h"

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
            open[p][way] = contender_runs(all, set, p, way) &&
                           open_at(set, &all->process[p][way], peer_names[p], c, objective, dtype,
                                   variant, d, variant, sizeof chosen[p]);
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

/* ---- Checks --------------------------------------------------------------------------------- */

void measure_checks(const settings *set, contenders *all)
{
    const bench_case *c;
    const char *objective;
    peer *torch = &all->process[TORCH][0];
    for (size_t i = 0; torch->to && (c = bench_case_at(i)); i++)
        for (size_t k = 0;
             wants(set, CASES, c->name) && !c->rows && (objective = bench_objective_name(k)); k++)
            for (int dtype = HS_F32; dtype <= HS_F64; dtype++) {
                double d[2];
                char variant[128] = "";
                if (problem_dump(c, objective, (hs_dtype)dtype, set->folder) &&
                    open_at(set, torch, peer_names[TORCH], c, objective, (hs_dtype)dtype, "eager",
                            d, variant, sizeof variant))
                    run_put(set, "checks",
                            json_pack("{s:s, s:s, s:s, s:o, s:o}", "case", c->name, "objective",
                                      objective, "type", hs_dtype_name((hs_dtype)dtype), "loss",
                                      number(d[0]), "gradient", number(d[1])));
            }
}

/* ---- Times ---------------------------------------------------------------------------------- */

/* Of all rounds, on one thread and on all. */
typedef struct {
    double ours[WAYS][MAX_ROUNDS], theirs[PEERS][WAYS][MAX_ROUNDS];
    double plain[WAYS][MAX_ROUNDS]; /* PyTorch without its compiler */
    double peak[WAYS][MAX_ROUNDS], read[WAYS][MAX_ROUNDS], update[WAYS][MAX_ROUNDS];
} samples;

/* Which of them there are. */
typedef struct {
    bool open[PEERS][WAYS], plain, memory;
} contest;

/* Seconds of a step at a peer; NaN without an answer. */
static double time_peer(const settings *set, contenders *all, int who, int way, const char *what)
{
    char line[64];
    double seconds = (double)NAN;
    snprintf(line, sizeof line, "%s %g", what, set->seconds);
    contender_ask(all, who, way, line, &seconds, 1);
    return seconds;
}

/* All contenders once, in one way. */
static void take_turns(samples *to, int r, const settings *set, contenders *all, const contest *is,
                       hs_dtype dtype, int way)
{
    for (int p = 0; p < PEERS; p++)
        if (is->open[p][way])
            to->theirs[p][way][r] = time_peer(set, all, p, way, "run");
    if (is->plain && is->open[TORCH][way])
        to->plain[way][r] = time_peer(set, all, TORCH, way, "plain");
    to->peak[way][r] = machine_peak(dtype, set->threads[way]);
    if (is->memory) {
        to->read[way][r] = machine_read(set->threads[way]);
        to->update[way][r] = machine_update(set->threads[way]);
    }
}

/* Adds the medians to a row. */
static void put_medians(json_t *row, samples *from, const settings *set, const contest *is)
{
    json_t *times = json_object(), *peaks = json_object(), *reads = json_object(),
           *updates = json_object();
    for (int way = 0; way < WAYS; way++) {
        set_median(times, set, "hastings", way, from->ours[way]);
        set_median(peaks, set, "", way, from->peak[way]);
        for (int p = 0; p < PEERS; p++)
            if (is->open[p][way])
                set_median(times, set, peer_names[p], way, from->theirs[p][way]);
        if (is->plain && is->open[TORCH][way])
            set_median(times, set, "torch plain", way, from->plain[way]);
        if (is->memory) {
            set_median(reads, set, "", way, from->read[way]);
            set_median(updates, set, "", way, from->update[way]);
        }
    }
    json_object_set_new(row, "seconds", times);
    json_object_set_new(row, "peak_gflops", peaks);
    json_object_set_new(row, "read_gbs", reads);
    json_object_set_new(row, "update_gbs", updates);
}

static json_t *measure_case(const settings *set, contenders *all, const bench_case *c,
                            const char *objective, hs_dtype dtype)
{
    static samples times;
    /* PyTorch again, without its compiler, once for each case. */
    contest is = { .plain = !c->rows && strcmp(objective, bench_objective_name(0)) == 0,
                   .memory = c->rows > 0 };
    const bool peers = contenders_any(all) && wants(set, PEER_OBJECTIVES, objective) &&
                       wants(set, PEER_TYPES, hs_dtype_name(dtype));
    json_t *differences =
        peers ? open_at_peers(set, all, c, objective, dtype, is.open) : json_object();
    stepper s[WAYS];
    bool ok = true;
    for (int way = 0; way < WAYS; way++) {
        s[way] = (stepper){ 0 };
        if (ok && (way == 0 || !is.memory)) /* one copy of very many parameters is enough */
            ok = stepper_open(&s[way], c, objective, dtype, set->threads[way]);
    }
    if (!ok) {
        for (int way = 0; way < WAYS; way++)
            stepper_close(&s[way]);
        json_decref(differences);
        return NULL;
    }
    const hs_plan_facts facts = hs_plan_describe(s[0].batch.plan);
    const size_t parameters = hs_params_size(hs_proposal_params(s[0].problem.proposal));
    const size_t normals = c->starts * c->proposals * hs_target_dim(s[0].problem.target);
    for (int r = 0; r < set->rounds; r++)
        for (int way = 0; way < WAYS; way++) {
            if (!is.memory || way == 0)
                times.ours[way][r] = time_call(stepper_run, &s[way], set->seconds);
            take_turns(&times, r, set, all, &is, dtype, way);
        }
    if (is.memory) {
        stepper_close(&s[0]);
        ok = stepper_open(&s[1], c, objective, dtype, set->threads[1]);
        for (int r = 0; r < set->rounds; r++)
            times.ours[1][r] = ok ? time_call(stepper_run, &s[1], set->seconds) : (double)NAN;
    }
    for (int way = 0; way < WAYS; way++)
        stepper_close(&s[way]);
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:{}, s:o}", "case", c->name, "title", c->title,
                            "objective", objective, "type", hs_dtype_name(dtype), "seconds",
                            "differences", differences);
    set_rounds(row, set->rounds, set->seconds);
    put_medians(row, &times, set, &is);
    json_object_set_new(row, "flops", json_real(facts.flops));
    json_object_set_new(row, "matrix_bytes", json_real(facts.matrix_bytes));
    json_object_set_new(row, "parameters", json_integer((json_int_t)parameters));
    json_object_set_new(row, "shards", json_integer((json_int_t)facts.shards));
    json_object_set_new(row, "normals", json_integer((json_int_t)normals));
    return row;
}

void measure_steps(const settings *set, contenders *all)
{
    const bench_case *c;
    const char *objective;
    for (size_t i = 0; (c = bench_case_at(i)); i++)
        for (size_t k = 0; wants(set, CASES, c->name) && (objective = bench_objective_name(k)); k++)
            for (int dtype = HS_F32; dtype <= HS_F64; dtype++) {
                /* In f64, 8 bytes for each of 174 million parameters, many times over, are too many. */
                if (!wants(set, OBJECTIVES, objective) ||
                    !wants(set, TYPES, hs_dtype_name((hs_dtype)dtype)) ||
                    (c->rows && dtype == HS_F64))
                    continue;
                fprintf(stderr, "%s, %s, %s\n", c->name, objective, hs_dtype_name((hs_dtype)dtype));
                json_t *row = measure_case(set, all, c, objective, (hs_dtype)dtype);
                if (row)
                    run_put(set, "steps", row);
            }
}
