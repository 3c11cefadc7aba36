/**
 * Targets: the distributions to sample.
 *
 * A target is one function, its log density, written on the tape for one chain. Score, Hessian
 * products and HMC's gradient follow from it. A target may also draw exact samples on the tape. The
 * library's own targets are in targets/targets.h.
 *
 *     // log density of a banana: x0 ~ N(0, 1), x1 - x0^2 ~ N(0, 1)
 *     static hs_var banana(void *self, hs_var x)
 *     {
 *         (void)self;
 *         hs_var a = hs_slice(x, 0, 0, 1), b = hs_slice(x, 0, 1, 2);
 *         hs_var bent = hs_sub(b, hs_square(a));
 *         return hs_scale(hs_sum(hs_add(hs_square(a), hs_square(bent)), HS_ALL), -0.5);
 *     }
 *     hs_target *t = hs_target_new(s, &(hs_target_spec){ .name = "banana", .dim = 2,
 *                                                        .log_density = banana });
 *
 * The session owns its targets, and one thread makes them. Recording does not change a target: any
 * number of tapes may record it. Functions accept a NULL target: recording it fails the tape.
 */
#ifndef HASTINGS_MCMC_TARGET_H
#define HASTINGS_MCMC_TARGET_H

#include <hastings/autograd/ops.h>
#include <hastings/flows/flow.h>
#include <hastings/mcmc/session.h>

/** Target, opaque. */
typedef struct hs_target hs_target;

/** Parts of a target, for hs_target_new(). */
typedef struct {
    const char *name;            /**< name in messages; NULL: "target" */
    size_t dim;                  /**< number of coordinates, auxiliary ones included */
    void *self;                  /**< first argument of the functions below; may be NULL */
    void (*release)(void *self); /**< frees self with the session; NULL: nothing to free */

    /** Log density of x [dim], a scalar; it may lack a constant. Required. */
    hs_var (*log_density)(void *self, hs_var x);

    /** Exact draw [dim] of the given extent, from streams `stream` to stream + 7. NULL: the target
     *  has no exact draws. */
    hs_var (*draw)(void *self, hs_tape *tape, hs_extent extent, uint32_t stream);

    /** Number of auxiliary coordinates, the last ones of dim: independent standard normals.
     *  Samplers draw them anew before each proposal; diagnostics leave them out. */
    size_t auxiliary;
} hs_target_spec;

/** Number of streams for a target's own draws; auxiliary coordinates use the next stream. */
enum { HS_DRAW_STREAMS = 8 };

/** The first stream for draws of your own in a proposal, a log density or a loss: hs_uniform(tape, HS_ROW,
 *  shape, HS_OWN_STREAM + 1). Samplers and trainings draw on those below, so a part that uses one of them
 *  is refused: its numbers would be those of the acceptance, or of the noise. */
enum { HS_OWN_STREAM = 64 };

/** Makes a target of copies of its parts. A wrong part gives NULL, and fails the session. */
HS_API hs_target *hs_target_new(hs_session *s, const hs_target_spec *spec);

HS_API const char *hs_target_name(const hs_target *t);    /**< name of the target */
HS_API size_t hs_target_dim(const hs_target *t);          /**< number of coordinates */
HS_API size_t hs_target_original_dim(const hs_target *t); /**< without the auxiliary coordinates */
HS_API bool hs_target_can_draw(const hs_target *t);       /**< true if it has exact draws */
HS_API hs_session *hs_target_session(const hs_target *t); /**< session of the target */

/** Records the log density at x. */
HS_API hs_var hs_target_log_density_at(const hs_target *t, hs_var x, const char *at);
/** Records the score at x: the gradient of the log density. */
HS_API hs_var hs_target_score_at(const hs_target *t, hs_var x, const char *at);
#define hs_target_log_density(...) hs_target_log_density_at(__VA_ARGS__, HS_HERE)
#define hs_target_score(...)       hs_target_score_at(__VA_ARGS__, HS_HERE)

/** Records an exact draw; the tape fails if the target has none. */
HS_API hs_var hs_target_draw_at(const hs_target *t, hs_tape *tape, hs_extent extent,
                                uint32_t stream, const char *at);
#define hs_target_draw(...) hs_target_draw_at(__VA_ARGS__, HS_HERE)

/* ---- Targets made from others --------------------------------------------------------------- */

/** Appends n > 0 auxiliary standard normals to a target that has none. */
HS_API hs_target *hs_target_augment(hs_session *s, const hs_target *base, size_t n);

/** Makes a target of plain C: f is the log density with its gradient, and with a Hessian-vector
 *  product if proposals differentiate the gradient. The target copies *f; data behind its pointers
 *  must outlive the target. */
HS_API hs_target *hs_target_from_function(hs_session *s, size_t dim, const hs_function *f);

/** Pulls a target back through a diffeomorphism T: the distribution of z, where x = T(z) has the
 *  density of `base`. A draw is T^-1 of a draw of `base`. The flow must outlive the target. */
HS_API hs_target *hs_target_pull_back(hs_session *s, const hs_target *base, const hs_flow *flow);

#endif
