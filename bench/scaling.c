#include "cases.h"
#include "parts.h"

static void scale_one(const settings *set, const char *what, bench_case c, size_t size, int threads)
{
    stepper s;
    static double samples[MAX_ROUNDS];
    if (stepper_open(&s, &c, "ab-initio", HS_F32, threads)) {
        for (int r = 0; r < set->rounds; r++)
            samples[r] = time_call(stepper_run, &s, set->seconds);
        json_t *row = json_pack("{s:s, s:s, s:I, s:o}", "what", what, "case", c.name, "size",
                                (json_int_t)size, "seconds", median_of(samples, set->rounds));
        set_rounds(row, set->rounds, set->seconds);
        run_put(set, "scaling", row);
    }
    stepper_close(&s);
}

/* One thing at a time is doubled; and more threads than cores. */
void measure_scaling(const settings *set)
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
