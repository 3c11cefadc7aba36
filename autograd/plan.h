/**
 * A plan: the part of a tape that some outputs need, made ready to run fast.
 *
 * Making a plan removes dead and equal nodes, fuses elementwise chains, and bias and activation into
 * products, and lays all buffers out in one block. Running it allocates nothing. The batch is cut
 * into shards of whole start points; threads run the whole plan on shards, and what is summed over
 * the batch is added in an order that does not depend on the threads: same inputs, same bits.
 *
 *     hs_plan *plan;
 *     hs_status status = hs_plan_new(&plan, (hs_var[]){ loss, slope }, 2,
 *                                    &(hs_plan_options){ .starts = 100 });
 *     hs_plan_set(plan, x, data);                        // data[100][3], of the tape's dtype
 *     if (!status)
 *         status = hs_plan_run(plan, &(hs_run){ .seed = 1, .step = 0 });
 *     const double *value = hs_plan_get(plan, loss);
 *     hs_plan_free(plan);
 *
 * A plan keeps nothing of the tape but constants: the tape must outlive it, and may grow further.
 * One plan runs on one caller at a time; different plans may run at once.
 */
#ifndef HASTINGS_AUTOGRAD_PLAN_H
#define HASTINGS_AUTOGRAD_PLAN_H

#include <hastings/autograd/tape.h>

typedef struct hs_plan hs_plan;

typedef struct {
    size_t starts;         /**< start points in the batch; 0 means 1 */
    size_t rows_per_start; /**< proposals of each; 0 means 1 */
    int threads;           /**< 0: hs_threads_default(), or 1 if a run is too short to share */
    size_t shard_starts;   /**< start points in a shard; 0: chosen from sizes, never from threads */
    void *const *into;     /**< NULL, or per output NULL or the caller's memory for its value: an
                                 output of shared extent is then written there */
    bool trace;            /**< keep every node apart, and look for the first non-finite value */
    bool factors;          /**< of a batch of one row, leave gradients of weights as factors: see
                                hs_plan_factors() */
} hs_plan_options;

/** What varies from run to run. */
typedef struct {
    uint64_t seed;
    uint64_t step;
    uint64_t first_row; /**< row number of the first row, where draws are addressed from */
} hs_run;

/** Makes a plan for n outputs; options may be NULL: one row. On failure *plan is NULL and hs_tape_error() of their tape says
 *  why; if the tape itself was sound, it stays so. */
HS_API hs_status hs_plan_new(hs_plan **plan, const hs_var *outputs, size_t n,
                             const hs_plan_options *options) HS_MUST_CHECK;
HS_API void hs_plan_free(hs_plan *plan);

/** Points an input (or a bound value) at its data, of the tape's dtype, which is read in every run:
 *  [count] for shared, [starts][count] or [rows][count] for the others. A NULL plan and an input
 *  that the plan does not need are ignored. */
HS_API void hs_plan_set(hs_plan *plan, hs_var input, const void *data);

/** Runs the plan. HS_EINVAL if an input has no data, HS_EOVERFLOW if rows or steps have no address,
 *  with a message in hs_plan_error(). */
HS_API hs_status hs_plan_run(hs_plan *plan, const hs_run *run) HS_MUST_CHECK;

/** The value of an output after a run, in the tape's dtype: [count], [starts][count] or
 *  [rows][count]; NULL if it is not an output of this plan. Valid until the next run. */
HS_API const void *hs_plan_get(const hs_plan *plan, hs_var output);

/**
 * An output that a plan with `factors` did not compute, because it is a sum of few outer products, as the gradient of
 * a weight is if the batch has one row: sum over k < count of a[k] b[k]^T, a[k] of `rows` numbers and b[k] of `columns`.
 * Of large weights, whoever uses the gradient saves writing and reading it.
 */
typedef struct {
    size_t rows, columns, count;
    const void *const *a, *const *b;
} hs_factors;

/** NULL if the output has a value. Valid as long as the plan; what they point at until its next run. */
HS_API const hs_factors *hs_plan_factors(const hs_plan *plan, hs_var output);

/** The first element of an output as a double; NaN if it is not an output. */
HS_API double hs_plan_scalar(const hs_plan *plan, hs_var output);

/** What went wrong in the last run, or ""; owned by the plan. */
HS_API const char *hs_plan_error(const hs_plan *plan);

/** The first node, in the order of computation, that had a NaN or an infinity in the last run of a
 *  plan with `trace`: */
typedef struct {
    hs_var node;
    const char *op; /**< its op, its name (or ""), and where it was recorded */
    const char *name;
    const char *at;
    size_t row;        /**< start or row number; 0 for a shared value */
    size_t coordinate; /**< index into the value, flattened */
    double value;
} hs_nonfinite;

/** True, and *found filled in, if there is one. */
HS_API bool hs_plan_nonfinite(const hs_plan *plan, hs_nonfinite *found);

/** Facts for tests, benchmarks and the curious. */
typedef struct {
    size_t nodes; /**< nodes that the outputs need, before merging */
    size_t steps; /**< kernel calls of one shard and of the shared parts */
    size_t shards, shard_starts;
    size_t bytes_per_shard; /**< workspace of one thread */
    double flops;           /**< of the matrix products of one run */
    double matrix_bytes;    /**< of matrices, read for their products with vectors of a shard */
} hs_plan_facts;
HS_API hs_plan_facts hs_plan_describe(const hs_plan *plan);

/** Prints one line per step, and the same in Graphviz's language. */
HS_API void hs_plan_print(const hs_plan *plan, FILE *out);
HS_API void hs_plan_dot(const hs_plan *plan, FILE *out);

#endif
