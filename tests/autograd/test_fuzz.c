/* Thousands of random tapes: plans of them, and of their gradients, against an interpreter. */
#include "support/hs_check.h"
#include "support/random_tape.h"
#include "support/tape_interpreter.h"

#include <hastings.h>
#include "autograd/tape_internal.h"

#include <string.h>

/* ---- Comparison ------------------------------------------------------------------------------ */

static const double *leaf_data(int32_t id, void *context)
{
    const graph *g = context;
    for (int i = 0; i < g->leaves; i++)
        if (g->leaf[i].var.id == id)
            return g->leaf[i].wide;
    abort();
}

static bool verbose;

static void explain(const graph *g, uint64_t seed, const hs_plan_options *options, const char *what)
{
    fprintf(stderr, "seed %llu: %s; %s, %zu starts x %zu rows, shards of %zu, %s, without \"%s\"\n",
            (unsigned long long)seed, what, hs_dtype_name(hs_tape_dtype(g->tape)), g->starts,
            g->rows_per_start, options->shard_starts, options->trace ? "traced" : "fused",
            options->without ? options->without : "");
    if (verbose)
        hs_tape_print(g->tape, stderr);
}

/* True if the plan's outputs are those of the interpreter. */
static bool plan_agrees(graph *g, const interpreter *ti, const hs_plan_options *options,
                        uint64_t seed)
{
    hs_plan *plan;
    char what[400];
    if (hs_plan_new(&plan, g->output, g->outputs, options) != HS_OK) {
        explain(g, seed, options, hs_tape_error(g->tape));
        return false;
    }
    for (int i = 0; i < g->leaves; i++)
        if (chance(50) || hs__op_table[node_of(g->leaf[i].var)->op].name[0] == 'i')
            hs_plan_set(plan, g->leaf[i].var, g->leaf[i].data);
    const hs_run run = { ti->seed, ti->step, ti->first_row };
    bool good = hs_plan_run(plan, &run) == HS_OK && hs_plan_run(plan, &run) == HS_OK;
    const double tolerance = hs_tape_dtype(g->tape) == HS_F32 ? 3e-3 : 1e-8;
    for (size_t o = 0; good && o < g->outputs; o++) {
        const tape_node *node = node_of(g->output[o]);
        const void *found = hs_plan_get(plan, g->output[o]);
        const double *expected = ti->value[g->output[o].id];
        const size_t n = copies_of(g, node->extent) * hs_shape_count(&node->shape);
        double scale = 1;
        for (size_t i = 0; i < n; i++)
            scale = fmax(scale, fabs(expected[i]));
        for (size_t i = 0; good && i < n; i++) {
            const double x = hs_tape_dtype(g->tape) == HS_F32 ? (double)((const float *)found)[i]
                                                              : ((const double *)found)[i];
            good = fabs(x - expected[i]) <= tolerance * scale;
            if (!good) {
                snprintf(what, sizeof what, "output %zu (%%%d %s), element %zu: %.12g, not %.12g",
                         o, (int)g->output[o].id, hs__op_table[node->op].name, i, x, expected[i]);
                explain(g, seed, options, what);
            }
        }
    }
    hs_plan_free(plan);
    return good;
}

static void forget(graph *g)
{
    for (int i = 0; i < g->leaves; i++) {
        free(g->leaf[i].wide);
        free(g->leaf[i].data);
    }
    hs_tape_free(g->tape);
}

typedef enum { AGREES, FRAGILE, WRONG } verdict;

/* Each optional pass in turn is switched off. */
static const char *optional_pass(uint64_t turn)
{
    const hs_pass *pass;
    size_t count = 0;
    for (size_t i = 0; (pass = hs_plan_pass(i)); i++)
        count += pass->optional;
    turn %= count;
    for (size_t i = 0; (pass = hs_plan_pass(i)); i++)
        if (pass->optional && turn-- == 0)
            return pass->name;
    return "";
}

static verdict try_seed(uint64_t seed, hs_dtype dtype)
{
    static graph g;
    random_state = seed * 1000003;
    random_graph(&g, dtype);
    choose_outputs(&g);
    if (hs_tape_status(g.tape) != HS_OK) {
        explain(&g, seed, &(hs_plan_options){ 0 }, hs_tape_error(g.tape));
        forget(&g);
        return WRONG;
    }
    interpreter ti = { .tape = g.tape,
                       .starts = g.starts,
                       .rows_per_start = g.rows_per_start,
                       .seed = draw(),
                       .step = below(1000),
                       .first_row = below(5) * g.rows_per_start,
                       .leaf = leaf_data,
                       .context = &g,
                       .nearness = dtype == HS_F32 ? 1e-4 : 1e-10 };
    ti_run(&ti);
    for (size_t o = 0; o < g.outputs; o++) { /* numbers too large to compare */
        const tape_node *node = node_of(g.output[o]);
        const size_t n = copies_of(&g, node->extent) * hs_shape_count(&node->shape);
        for (size_t i = 0; i < n; i++)
            ti.fragile = ti.fragile || !(fabs(ti.value[g.output[o].id][i]) < 1e6);
    }
    verdict result = ti.fragile ? FRAGILE : AGREES;
    const char *without = optional_pass(seed);
    for (int cut = 0; cut < 4 && result == AGREES; cut++) {
        const hs_plan_options options = { .starts = g.starts,
                                          .rows_per_start = g.rows_per_start,
                                          .threads = 1 + (int)below(3),
                                          .shard_starts = cut == 0 ? 0 : 1 + below(g.starts + 2),
                                          .trace = cut == 2,
                                          .without = cut == 3 ? without : "",
                                          .always = cut == 1 || cut == 3 ? "loops,expand" : "" };
        if (!plan_agrees(&g, &ti, &options, seed))
            result = WRONG;
    }
    ti_free(&ti);
    forget(&g);
    return result;
}

enum { GRAPHS = 2000, BATCHES = 10, FIRST_F32 = 100000000 };

static void try_seeds(uint64_t first, hs_dtype dtype)
{
    int wrong = 0, fragile = 0;
    for (uint64_t seed = first; seed < first + GRAPHS / BATCHES; seed++) {
        const verdict result = try_seed(seed, dtype);
        wrong += result == WRONG;
        fragile += result == FRAGILE;
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_lt(fragile, GRAPHS / BATCHES / 2);
}

START_TEST(random_tapes)
{
    try_seeds(1 + (uint64_t)_i * (GRAPHS / BATCHES), HS_F64);
}
END_TEST

START_TEST(random_tapes_f32)
{
    try_seeds(FIRST_F32 + (uint64_t)_i * (GRAPHS / BATCHES), HS_F32);
}
END_TEST

static Suite *fuzz_suite(void)
{
    Suite *suite = suite_create("fuzz");
    TCase *tests = tcase_create("fuzz");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, random_tapes, 0, BATCHES);
    tcase_add_loop_test(tests, random_tapes_f32, 0, BATCHES / 4);
    suite_add_tcase(suite, tests);
    return suite;
}

/* A seed as argument: only that one, and its tape is printed; or a seed and how many from there. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        const uint64_t first = strtoull(argv[1], NULL, 10);
        const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
        int of[3] = { 0, 0, 0 };
        verbose = count == 1;
        for (uint64_t seed = first; seed < first + count; seed++)
            of[try_seed(seed, seed >= FIRST_F32 ? HS_F32 : HS_F64)]++;
        printf("%d agree, %d fragile, %d wrong\n", of[AGREES], of[FRAGILE], of[WRONG]);
        return of[WRONG] > 0;
    }
    Suite *const suites[] = { fuzz_suite() };
    return hs_test_run(suites, 1);
}
