/*
 * Forward and backward pass of networks at the shapes of the paper, against PyTorch.
 *
 *     mlp [--seconds S] [--rounds N] [--peer SCRIPT] [--markdown]
 *
 * For each shape and number type, in rounds that take turns: a gradient step of Hastings on one
 * thread and on all, the matrix products alone at the same shapes, the core's fused multiply-add
 * peak, and PyTorch on one thread. Prints medians over the rounds.
 */
#include "measure.h"

#include <hastings.h>

#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t in, width, depth, out, rows;
} shape;

static const shape shapes[] = {
    { 1, 6, 3, 1, 800 },     { 2, 16, 4, 2, 800 },     { 28, 84, 4, 28, 800 },
    { 42, 126, 4, 42, 800 }, { 785, 2355, 4, 785, 1 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MAX_ROUNDS = 50, MAX_LAYERS = 8 };

/* ---- Hastings ------------------------------------------------------------------------------- */

typedef struct {
    hs_params *ps;
    hs_tape *tape;
    hs_plan *plan;
    void *data;
} network;

static bool network_open(network *n, const shape *s, hs_dtype dtype, int threads)
{
    n->ps = hs_params_new(dtype, 1);
    n->tape = hs_tape_new(dtype);
    const hs_mlp net = hs_mlp_new(
        n->ps,
        &(hs_mlp_options){ .in = s->in, .out = s->out, .width = s->width, .depth = s->depth });
    hs_var x = hs_input(n->tape, "x", HS_ROW, hs_dims(s->in));
    hs_var loss = hs_mean_rows(hs_sum_last(hs_square(hs_mlp_apply(&net, x))));
    hs_message message;
    const hs_plan_options options = { .starts = s->rows, .threads = threads, .message = &message };
    if (hs_params_plan(&n->plan, loss, n->ps, NULL, 0, &options) != HS_OK) {
        fprintf(stderr, "%s\n", message.text);
        return false;
    }
    n->data = hs_alloc(s->rows * s->in * hs_dtype_size(dtype));
    if (!n->data)
        return false;
    hs_random_rows(dtype, HS_NORMAL, (hs_address){ .seed = 1 }, 0, s->rows, s->in, n->data);
    hs_plan_set(n->plan, x, n->data);
    return true;
}

static void network_run(void *context)
{
    network *n = context;
    if (hs_plan_run(n->plan, &(hs_run){ .seed = 1 }) != HS_OK)
        fprintf(stderr, "%s\n", hs_plan_error(n->plan));
}

static void network_close(network *n)
{
    hs_plan_free(n->plan);
    hs_tape_free(n->tape);
    hs_params_free(n->ps);
    hs_free(n->data);
}

/* ---- Products alone ------------------------------------------------------------------------- */

/* The same products as the network's, over shards of the same size, and nothing else. */
typedef struct {
    const shape *s;
    hs_dtype dtype;
    size_t lanes, shards, stride;
    size_t layers, size[MAX_LAYERS + 1];
    void *value[MAX_LAYERS + 1], *slope[MAX_LAYERS + 1], *weight[MAX_LAYERS], *dw[MAX_LAYERS];
    void *scratch;
} products;

static bool products_open(products *p, const shape *s, hs_dtype dtype, const hs_plan *plan)
{
    const hs_plan_facts facts = hs_plan_describe(plan);
    const size_t e = hs_dtype_size(dtype), line = HS_ALIGN / e;
    *p = (products){ .s = s, .dtype = dtype, .lanes = facts.shard_starts, .shards = facts.shards };
    p->stride = p->lanes == 1 ? 1 : (p->lanes + line - 1) / line * line;
    p->layers = s->depth + 1;
    size_t scratch = 64;
    bool ok = true;
    for (size_t l = 0; l <= p->layers; l++) {
        p->size[l] = l == 0 ? s->in : l == p->layers ? s->out : s->width;
        p->value[l] = hs_alloc_zero(p->size[l] * p->stride, e);
        p->slope[l] = hs_alloc_zero(p->size[l] * p->stride, e);
        ok = ok && p->value[l] && p->slope[l];
    }
    for (size_t l = 0; l < p->layers; l++) {
        const size_t need = hs_product_sum_scratch(
            dtype, &(hs_product_sum){ .out = p->size[l + 1], .in = p->size[l], .lanes = p->lanes });
        p->weight[l] = hs_alloc_zero(p->size[l] * p->size[l + 1], e);
        p->dw[l] = hs_alloc_zero(p->size[l] * p->size[l + 1], e);
        scratch = need > scratch ? need : scratch;
        ok = ok && p->weight[l] && p->dw[l];
    }
    p->scratch = hs_alloc(scratch);
    return ok && p->scratch;
}

static void products_run(void *context)
{
    const products *p = context;
    for (size_t shard = 0; shard < p->shards; shard++) {
        for (size_t l = 0; l < p->layers; l++)
            hs_product_run(p->dtype, &(hs_product){ .out = p->size[l + 1],
                                                    .in = p->size[l],
                                                    .lanes = p->lanes,
                                                    .w = p->weight[l],
                                                    .w_out = p->size[l],
                                                    .w_in = 1,
                                                    .x = p->value[l],
                                                    .x_stride = p->stride,
                                                    .y = p->value[l + 1],
                                                    .y_stride = p->stride });
        for (size_t l = p->layers; l-- > 0;) {
            hs_product_sum_run(p->dtype, &(hs_product_sum){ .out = p->size[l + 1],
                                                            .in = p->size[l],
                                                            .lanes = p->lanes,
                                                            .dy = p->slope[l + 1],
                                                            .dy_stride = p->stride,
                                                            .x = p->value[l],
                                                            .x_stride = p->stride,
                                                            .dw = p->dw[l],
                                                            .accumulate = shard > 0,
                                                            .scratch = p->scratch });
            if (l)
                hs_product_run(p->dtype, &(hs_product){ .out = p->size[l],
                                                        .in = p->size[l + 1],
                                                        .lanes = p->lanes,
                                                        .w = p->weight[l],
                                                        .w_out = 1,
                                                        .w_in = p->size[l],
                                                        .x = p->slope[l + 1],
                                                        .x_stride = p->stride,
                                                        .y = p->slope[l],
                                                        .y_stride = p->stride });
        }
    }
}

static void products_close(products *p)
{
    for (size_t l = 0; l <= p->layers; l++) {
        hs_free(p->value[l]);
        hs_free(p->slope[l]);
        if (l < p->layers) {
            hs_free(p->weight[l]);
            hs_free(p->dw[l]);
        }
    }
    hs_free(p->scratch);
}

/* ---- The table ------------------------------------------------------------------------------ */

typedef struct {
    double seconds;
    int rounds;
    const char *script;
} settings;

enum { ONE, ALL, ALONE, PEAK, EAGER, COMPILED, COLUMNS };

static bool measure_shape(const shape *s, hs_dtype dtype, const settings *set, peer *torch)
{
    network one = { 0 }, all = { 0 };
    products alone = { 0 };
    static double sample[COLUMNS][MAX_ROUNDS];
    bool ok = network_open(&one, s, dtype, 1) && network_open(&all, s, dtype, 0) &&
              products_open(&alone, s, dtype, one.plan);
    int torches = 0;
    for (int r = 0; ok && r < set->rounds; r++) {
        sample[ONE][r] = time_call(network_run, &one, set->seconds);
        sample[ALONE][r] = time_call(products_run, &alone, set->seconds);
        sample[ALL][r] = time_call(network_run, &all, set->seconds);
        double peaks[5], answer[2] = { 0, 0 };
        for (int k = 0; k < 5; k++)
            peaks[k] = peak_once(dtype);
        sample[PEAK][r] = median(peaks, 5);
        if (torch->to) {
            char line[128];
            snprintf(line, sizeof line, "%zu %zu %zu %zu %zu %s %g", s->in, s->width, s->depth,
                     s->out, s->rows, hs_dtype_name(dtype), set->seconds);
            torches = peer_ask(torch, line, answer, 2);
        }
        sample[EAGER][r] = answer[0];
        sample[COMPILED][r] = answer[1];
    }
    if (ok) {
        double m[COLUMNS];
        for (int c = 0; c < COLUMNS; c++)
            m[c] = median(sample[c], (size_t)set->rounds);
        const double flops = hs_plan_describe(one.plan).flops, rate = flops / m[ONE] * 1e-9;
        const double best = torches == 2 && m[COMPILED] < m[EAGER] ? m[COMPILED] : m[EAGER];
        printf("| %zu-%zux%zu-%zu | %zu | %s | %.1f | %.1f | %.1f | %.0f%% | %.0f%% | ", s->in,
               s->width, s->depth, s->out, s->rows, hs_dtype_name(dtype), m[ONE] * 1e6,
               m[ALL] * 1e6, rate, m[PEAK] > 0 ? 100 * rate / m[PEAK] : 0, 100 * m[ALONE] / m[ONE]);
        if (torches)
            printf("%.1f | %.1f | %.1f |\n", m[EAGER], m[COMPILED], best / (m[ONE] * 1e6));
        else
            printf("- | - | - |\n");
        fflush(stdout);
    }
    network_close(&one);
    network_close(&all);
    products_close(&alone);
    return ok;
}

int main(int argc, char **argv)
{
    settings set = { .seconds = 0.2, .rounds = 5, .script = HS_PEERS "/mlp_torch.py" };
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (more && strcmp(argv[i], "--seconds") == 0) {
            set.seconds = strtod(argv[++i], NULL);
        } else if (more && strcmp(argv[i], "--rounds") == 0) {
            set.rounds = (int)strtol(argv[++i], NULL, 10);
        } else if (more && strcmp(argv[i], "--peer") == 0) {
            set.script = argv[++i];
        } else {
            fprintf(stderr, "usage: %s [--seconds S] [--rounds N] [--peer SCRIPT]\n", argv[0]);
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    if (!(set.seconds > 0) || set.rounds < 1 || set.rounds > MAX_ROUNDS) {
        fprintf(stderr, "mlp: seconds must be positive, and rounds between 1 and %d\n", MAX_ROUNDS);
        return 2;
    }
    peer torch;
    if (!peer_start(&torch, set.script))
        fprintf(stderr, "mlp: no PyTorch (python3 with torch): its columns stay empty\n");
    printf("Forward and backward pass, medians of %d rounds of %g s, %s. Microseconds; GFLOP/s and "
           "shares are of one thread.\n\n",
           set.rounds, set.seconds, hs_isa_name(hs_cpu_isa()));
    printf(
        "| network | rows | type | 1 thread | %d threads | GFLOP/s | of FMA peak | products alone "
        "| PyTorch eager | compiled | times faster |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n",
        hs_threads_default());
    bool ok = true;
    for (int dtype = HS_F32; dtype <= HS_F64; dtype++)
        for (int i = 0; i < SHAPES; i++)
            ok = measure_shape(&shapes[i], (hs_dtype)dtype, &set, &torch) && ok;
    peer_stop(&torch);
    return ok ? 0 : 1;
}
