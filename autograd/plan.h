/**
 * A plan: the part of a tape that some outputs need, made ready to run fast.
 *
 * Making a plan removes dead and equal nodes, fuses elementwise chains, fuses bias and activation into products, and
 * lays all buffers out in one block. Running a plan allocates nothing. The batch is cut into shards of whole start
 * points, and each thread runs the whole plan on some shards. Sums over the batch have an order that does not depend
 * on the threads: same inputs, same bits.
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
 * The plan owns its buffers and outputs. It uses the tape's constants and names: the tape must outlive it, and may
 * grow further. One thread at a time may use a plan; different plans may run at once.
 */
#ifndef HASTINGS_AUTOGRAD_PLAN_H
#define HASTINGS_AUTOGRAD_PLAN_H

#include <hastings/autograd/tape.h>
#include <hastings/tensor/message.h>

typedef struct hs_plan hs_plan; /**< a plan */

/** The batch of a plan, and how to run it; zeros are the defaults. */
typedef struct {
    size_t starts;         /**< start points in the batch; 0 means 1 */
    size_t rows_per_start; /**< rows (proposals) of each start point; 0 means 1 */
    int threads;           /**< 0: hs_threads_default(), or 1 if a run is too short to share */
    size_t shard_starts;   /**< start points in a shard; 0: chosen from sizes, never from threads */
    void *const *into;     /**< NULL, or for each output NULL or the caller's memory, to which a run
                                writes that output; its extent must be shared */
    bool trace;            /**< keeps nodes apart, and looks for the first non-finite value */
    bool factors;          /**< leaves gradients of weights as factors if the batch has one row: see
                                hs_plan_factors() */
    const char *without;   /**< optional passes that are switched off, such as "loops,pairs": see
                                hs_plan_pass(); the environment's HASTINGS_PLAN_WITHOUT adds to them */
    const char *always;    /**< optional passes that apply even where they do not pay: for tests */
    /** NULL, or asked while the plan is made and before each shard of a run, by the calling thread: true ends that
     *  with HS_EINTERRUPTED. The outputs of such a run are of no use. */
    bool (*interrupted)(void *context);
    void *context;       /**< the argument of `interrupted` */
    hs_message *message; /**< NULL, or where a failure to make the plan is told */
} hs_plan_options;

/** The address of a run's draws. */
typedef struct {
    uint64_t seed;      /**< seed of all draws */
    uint64_t step;      /**< step number, below 2^48: another step, other draws */
    uint64_t first_row; /**< row number of the first row; rows are numbered below 2^32 */
} hs_run;

/** Makes a plan for n outputs of one tape; NULL options mean one row. The caller frees the plan. On failure *plan
 *  is NULL and options->message says why; the tape stays as it was. */
HS_API hs_status hs_plan_new(hs_plan **plan, const hs_var *outputs, size_t n,
                             const hs_plan_options *options) HS_MUST_CHECK;
HS_API void hs_plan_free(hs_plan *plan); /**< frees a plan; NULL is allowed */

/** Points an input (or a bound value) at the caller's data, in the tape's dtype, which every run reads: [count] for
 *  shared, else [starts][count] or [rows][count]. Ignores a NULL plan, and an input that the plan does not need. */
HS_API void hs_plan_set(hs_plan *plan, hs_var input, const void *data);

/** Runs the plan. Returns HS_EINVAL if an input has no data (or the plan is NULL), HS_EOVERFLOW if rows or
 *  steps have no address, and HS_EINTERRUPTED; hs_plan_error() has the sentence. */
HS_API hs_status hs_plan_run(hs_plan *plan, const hs_run *run) HS_MUST_CHECK;

/** Returns an output after a run, in the tape's dtype: [count], [starts][count] or [rows][count]; NULL if the plan has
 *  no such output. The plan owns the value, or the caller (options.into); the next run overwrites it. */
HS_API const void *hs_plan_get(const hs_plan *plan, hs_var output);

/**
 * An output as a sum of few outer products: sum over k < count of a[k] b[k]^T. With a batch of one row the gradient of
 * a weight has this form. A plan with `factors` leaves large ones so: nobody has to write and read the sum.
 */
typedef struct {
    size_t rows, columns, count; /**< length of every a[k] and every b[k]; number of products */
    const void *const *a,        /**< [count] vectors a[k] */
        *const *b;               /**< [count] vectors b[k] */
} hs_factors;

/** Returns the factors of an output; NULL if it has a value. They live as long as the plan; the next run
 *  overwrites the numbers that they point at. */
HS_API const hs_factors *hs_plan_factors(const hs_plan *plan, hs_var output);

/** Returns the first element of an output as a double; NaN if it is not an output. */
HS_API double hs_plan_scalar(const hs_plan *plan, hs_var output);

/** Returns the error of the last run as a sentence, or "". The plan owns the text. */
HS_API const char *hs_plan_error(const hs_plan *plan);

/** The first node, in the order of computation, with a NaN or an infinity in the last run of a plan with `trace`. */
typedef struct {
    hs_var node;       /**< the node */
    const char *op;    /**< its op */
    const char *name;  /**< its name, or "" */
    const char *at;    /**< the place where it was recorded */
    size_t row;        /**< start or row number; 0 for a shared value */
    size_t coordinate; /**< index into the value, flattened */
    double value;      /**< the number that is not finite */
} hs_nonfinite;

/** Fills *found and returns true if there is such a node. */
HS_API bool hs_plan_nonfinite(const hs_plan *plan, hs_nonfinite *found);

/** Facts for tests, benchmarks and the curious. */
typedef struct {
    size_t nodes;                /**< nodes that the outputs need, before merging */
    size_t steps;                /**< kernel calls of one shard and of the shared parts */
    size_t shards, shard_starts; /**< shards of the batch, and start points in a shard */
    size_t bytes_per_shard;      /**< workspace of one thread */
    double flops;                /**< floating-point operations of the matrix products of one run */
    double matrix_bytes;         /**< bytes of matrices that multiply vectors of one shard */
} hs_plan_facts;

HS_API hs_plan_facts hs_plan_describe(const hs_plan *plan); /**< the facts about a plan */

/** A pass of the making of plans, a row of autograd/plan/passes.def. */
typedef struct {
    const char *name; /**< its name, as in hs_plan_options.without */
    bool optional;    /**< the plan computes the same without it */
    const char *doc;  /**< what it does, in a clause */
} hs_pass;

/** Returns pass number i, in their order; NULL after the last. */
HS_API const hs_pass *hs_plan_pass(size_t i);

HS_API void hs_plan_print(const hs_plan *plan, FILE *out); /**< prints one line per step */
/** Prints the plan in Graphviz's language: `dot -Tsvg`. */
HS_API void hs_plan_dot(const hs_plan *plan, FILE *out);

#endif
