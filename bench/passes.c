/*
 * The worth of each optional pass of the planner: how many times as long a step takes without it.
 *
 *     passes [seconds per turn] [subject]...
 *
 * A subject is a case of bench_steps (one gradient step, Ab Initio) or KIND/CHAINS/CASE (one transition of that many
 * chains on the posterior of a case). A step with all passes and one without take turns, on one thread in float32; the figure is the
 * ratio of their medians. A pass that does not change the plan is not measured: "-". In the end, the time to make plans
 * of 200 and 400 couplings. The tables are Markdown; bench/performance.md keeps the figures.
 */
#include "cases.h"
#include "measure.h"

#include <hastings/tensor/clock.h>

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, MOST_PASSES = 32 };

/* A training step, or chains. */
typedef struct {
    bool samples;
    stepper stepper;
    chains chains;
} subject;

static const char *const samplers[] = {
    "random-walk/1/german",  "random-walk/100/german",
    "mala/1/german",         "mala/100/german",
    "hmc/1/german",          "hmc/100/german",
    "multi-scheme/1/german", "multi-scheme/100/german",
    "mala/1/mnist",          "mala/100/mnist",
    "multi-scheme/1/mnist",
};
enum { SAMPLERS = sizeof samplers / sizeof *samplers };

/* Opens a subject with a pass switched off, or with all passes if `without` is "". */
static bool subject_open(subject *s, const char *name, const char *without)
{
    const char *slash = strchr(name, '/');
    *s = (subject){ .samples = slash != NULL };
    setenv("HASTINGS_PLAN_WITHOUT", without, 1);
    bool ok = false;
    if (slash) {
        char kind[32], *end;
        snprintf(kind, sizeof kind, "%.*s", (int)(slash - name), name);
        const unsigned long count = strtoul(slash + 1, &end, 10);
        const bench_case *c = *end == '/' ? bench_case_named(end + 1) : NULL;
        ok = c && count && chains_open(&s->chains, c, kind, count, HS_F32, 1);
    } else if (bench_case_named(name)) {
        ok = stepper_open(&s->stepper, bench_case_named(name), "ab-initio", HS_F32, 1);
    }
    unsetenv("HASTINGS_PLAN_WITHOUT");
    if (!ok)
        fprintf(stderr, "%s: cannot be measured\n", name);
    return ok;
}

static void subject_close(subject *s)
{
    if (s->samples)
        chains_close(&s->chains);
    else
        stepper_close(&s->stepper);
}

static double subject_time(subject *s, double seconds)
{
    return s->samples ? time_call(chains_run, &s->chains, seconds)
                      : time_call(stepper_run, &s->stepper, seconds);
}

/* The plan as text; the caller frees it. */
static char *subject_plan(const subject *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        exit(1);
    hs_plan_print(s->samples ? s->chains.sampler.plan : s->stepper.batch.plan, out);
    fclose(out);
    return text;
}

/* How many times as long a step takes without a pass; 0 if the plan is the same. */
static double worth(subject *with, const char *plan, const char *name, const char *pass,
                    double seconds)
{
    subject without;
    double times[2][ROUNDS], result = 0;
    if (!subject_open(&without, name, pass)) {
        subject_close(&without);
        return 0;
    }
    char *other = subject_plan(&without);
    if (strcmp(plan, other) != 0) {
        for (int r = 0; r < ROUNDS; r++) {
            times[0][r] = subject_time(with, seconds);
            times[1][r] = subject_time(&without, seconds);
        }
        result = median(times[1], ROUNDS) / median(times[0], ROUNDS);
    }
    free(other);
    subject_close(&without);
    return result;
}

static double most[MOST_PASSES]; /* over all subjects */

static void print_head(void)
{
    const hs_pass *pass;
    printf("| step |");
    for (size_t i = 0; (pass = hs_plan_pass(i)); i++)
        if (pass->optional)
            printf(" %s |", pass->name);
    printf("\n|---|");
    for (size_t i = 0; (pass = hs_plan_pass(i)); i++)
        if (pass->optional)
            printf("---|");
    printf("\n");
}

/* In the type that `mark` begins and ends; "-" where there is none. */
static void print_ratio(double ratio, const char *mark)
{
    if (ratio > 0)
        printf(" %s%.2f%s |", mark, ratio, mark);
    else
        printf(" - |");
}

static void print_subject(const char *name, double seconds)
{
    subject with;
    const hs_pass *pass;
    if (!subject_open(&with, name, "")) {
        subject_close(&with);
        return;
    }
    char *plan = subject_plan(&with);
    printf("| %s |", name);
    for (size_t i = 0; (pass = hs_plan_pass(i)) && i < MOST_PASSES; i++) {
        if (!pass->optional)
            continue;
        const double ratio = worth(&with, plan, name, pass->name, seconds);
        most[i] = ratio > most[i] ? ratio : most[i];
        print_ratio(ratio, "");
        fflush(stdout);
    }
    printf("\n");
    free(plan);
    subject_close(&with);
}

static void print_most(void)
{
    const hs_pass *pass;
    printf("| **the most** |");
    for (size_t i = 0; (pass = hs_plan_pass(i)) && i < MOST_PASSES; i++)
        if (pass->optional)
            print_ratio(most[i], "**");
    printf("\n\n");
}

/* The time to make the plan of a flow of so many couplings, gradients included. */
static void print_making(size_t couplings)
{
    bench_case c = *bench_case_named("cross8");
    stepper s;
    c.couplings = couplings;
    double samples[ROUNDS];
    if (stepper_open(&s, &c, "ab-initio", HS_F32, 1)) {
        hs_params *ps = hs_proposal_params(s.problem.proposal);
        for (int r = 0; r < ROUNDS; r++) {
            hs_plan *plan;
            const double begin = hs_seconds();
            if (hs_params_plan(&plan, s.batch.loss, ps, NULL, 0,
                               &(hs_plan_options){ .starts = c.starts,
                                                   .rows_per_start = c.proposals }) != HS_OK)
                exit(1);
            samples[r] = hs_seconds() - begin;
            hs_plan_free(plan);
        }
        printf("| %zu | %.3g |\n", couplings, median(samples, ROUNDS));
    }
    stepper_close(&s);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.1;
    if (!(seconds > 0)) {
        fprintf(stderr, "usage: bench_passes [seconds per turn] [subject]...\n");
        return 2;
    }
    print_head();
    for (int i = 2; i < argc && strcmp(argv[i], "making") != 0; i++)
        print_subject(argv[i], seconds);
    const bench_case *c;
    for (size_t i = 0; argc <= 2 && (c = bench_case_at(i)); i++)
        print_subject(c->name, seconds);
    for (size_t i = 0; argc <= 2 && i < SAMPLERS; i++)
        print_subject(samplers[i], seconds);
    print_most();
    if (argc > 2 && strcmp(argv[2], "making") != 0)
        return 0;
    printf("| couplings | seconds to make the plan |\n|---|---|\n");
    for (size_t couplings = 100; couplings <= 400; couplings *= 2)
        print_making(couplings);
    return 0;
}
