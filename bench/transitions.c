#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "machine.h"
#include "parts.h"

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
    if (!ok) {
        for (int way = 0; way < WAYS; way++)
            chains_close(&mine[way]);
        return NULL;
    }
    const bool peers = contenders_any(all) && chains_dump(&mine[0], kind, set->folder);
    for (int r = 0; r < set->rounds; r++)
        for (int way = 0; way < WAYS; way++) {
            ours[way][r] = (double)count / time_call(chains_run, &mine[way], set->seconds);
            peak[way][r] = machine_peak(HS_F32, set->threads[way]);
            exponentials[way][r] = machine_exponentials(set->threads[way]);
            for (int p = 0; p < PEERS && peers; p++)
                if (contender_runs(all, set, p, way)) {
                    char line[160];
                    double answer[2] = { (double)NAN, (double)NAN };
                    snprintf(line, sizeof line, "sample %zu f32 %g %s", count, set->seconds,
                             set->folder);
                    answered[p][way] = contender_ask(all, p, way, line, answer, 2) == 2;
                    theirs[p][way][r] = answer[0];
                    accepted[p][way] = answer[1];
                }
        }
    const double acceptance = mine[0].accepted / (double)mine[0].step;
    /* Between acceptance rates; of a dozen transitions, noise alone makes more than 0.1. */
    const double bound = 0.1 + 0.5 / sqrt((double)mine[0].step * (double)count);
    json_t *rates = json_object(), *peaks = json_object(), *exps = json_object(),
           *acceptances = json_object();
    for (int way = 0; way < WAYS; way++) {
        set_median(rates, set, "hastings", way, ours[way]);
        set_median(peaks, set, "", way, peak[way]);
        set_median(exps, set, "", way, exponentials[way]);
        for (int p = 0; p < PEERS; p++)
            if (answered[p][way]) {
                char key[32];
                snprintf(key, sizeof key, "%s %s", peer_names[p], threads_key(set, way));
                set_median(rates, set, peer_names[p], way, theirs[p][way]);
                json_object_set_new(acceptances, key, number(accepted[p][way]));
                if (!(fabs(accepted[p][way] - acceptance) <= bound)) /* or one is no number */
                    fprintf(stderr, "%s accepts %.3g of %s, %s, %zu chains, and we %.3g\n", key,
                            accepted[p][way], c->name, kind, count, acceptance);
            }
    }
    const double flops = hs_plan_describe(mine[0].sampler.plan).flops / (double)count;
    const size_t rows = mine[0].problem.data ? mine[0].problem.data->rows : 0;
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

const char *sampling_kind(size_t i)
{
    static const char *const kinds[] = { "random-walk", "mala", "hmc", "multi-scheme" };
    return i < sizeof kinds / sizeof *kinds ? kinds[i] : NULL;
}

const char *sampling_chains(size_t i)
{
    static const char *const counts[] = { "1", "100" };
    return i < sizeof counts / sizeof *counts ? counts[i] : NULL;
}

void measure_sampling(const settings *set, contenders *all)
{
    static const char *const names[] = { "german", "mnist" };
    const char *kind, *count;
    for (int c = 0; c < 2; c++)
        for (size_t k = 0; wants(set, CASES, names[c]) && (kind = sampling_kind(k)); k++)
            for (size_t n = 0; wants(set, KINDS, kind) && (count = sampling_chains(n)); n++) {
                if (!wants(set, CHAINS, count))
                    continue;
                fprintf(stderr, "sampling: %s, %s, %s chains\n", names[c], kind, count);
                json_t *row = measure_chains(set, all, bench_case_named(names[c]), kind,
                                             strtoul(count, NULL, 10));
                if (!row)
                    continue;
                set_rounds(row, set->rounds, set->seconds);
                run_put(set, "sampling", row);
            }
}
