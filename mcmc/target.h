/**
 * Targets: the distributions that are sampled.
 *
 * A target is one function, its log density, written on the tape for one chain; score, Hessian
 * products and HMC's gradient follow from it. A target that can be sampled exactly says how, on the
 * tape as well. The library's own targets are in targets.h.
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
 * Targets belong to their session. Recording a target does not change it: any number of tapes may.
 */
#ifndef HASTINGS_MCMC_TARGET_H
#define HASTINGS_MCMC_TARGET_H

#include <hastings/autograd/ops.h>
#include <hastings/flows/flow.h>
#include <hastings/mcmc/session.h>

typedef struct hs_target hs_target;

typedef struct {
    const char *name;
    size_t dim;
    void *self;                  /**< given to all functions below; NULL is allowed */
    void (*release)(void *self); /**< frees self with the session; NULL: it needs none */

    /** The log density of the vector x [dim], a scalar; a constant may be left out. Required. */
    hs_var (*log_density)(void *self, hs_var x);

    /** An exact draw [dim] of the given extent; it may use streams `stream` to stream + 7. NULL: the
     *  target cannot be sampled directly. */
    hs_var (*draw)(void *self, hs_tape *tape, hs_extent extent, uint32_t stream);

    /** The last `auxiliary` of the dim coordinates are independent standard normals that samplers draw
     *  anew before each proposal, and that diagnostics leave out. */
    size_t auxiliary;
} hs_target_spec;

/** Streams that a target's own draws may use; auxiliary coordinates use the next. */
enum { HS_DRAW_STREAMS = 8 };

/** A target from its parts, which are copied. NULL (and the session fails) if one is missing. */
HS_API hs_target *hs_target_new(hs_session *s, const hs_target_spec *spec);

HS_API const char *hs_target_name(const hs_target *t);

/** Coordinates altogether, and those that are not auxiliary. */
HS_API size_t hs_target_dim(const hs_target *t);
HS_API size_t hs_target_original_dim(const hs_target *t);
HS_API bool hs_target_can_draw(const hs_target *t);
HS_API hs_session *hs_target_session(const hs_target *t);

/** Recorded on the tape of x: log density, and score, its gradient at x. */
HS_API hs_var hs_target_log_density_at(const hs_target *t, hs_var x, const char *at);
HS_API hs_var hs_target_score_at(const hs_target *t, hs_var x, const char *at);
#define hs_target_log_density(...) hs_target_log_density_at(__VA_ARGS__, HS_HERE)
#define hs_target_score(...)       hs_target_score_at(__VA_ARGS__, HS_HERE)

/** An exact draw; an error on the tape if the target has none. */
HS_API hs_var hs_target_draw_at(const hs_target *t, hs_tape *tape, hs_extent extent,
                                uint32_t stream, const char *at);
#define hs_target_draw(...) hs_target_draw_at(__VA_ARGS__, HS_HERE)

/* ---- Targets made from others --------------------------------------------------------------- */

/** The target with n auxiliary standard normals appended. */
HS_API hs_target *hs_target_augment(hs_session *s, const hs_target *base, size_t n);

/** A target in plain C: f is its log density with gradient (and Hessian-vector product, if proposals
 *  differentiate the gradient). f must outlive the session's use of the target. */
HS_API hs_target *hs_target_from_function(hs_session *s, size_t dim, const hs_function *f);

/** The target seen through a diffeomorphism: the distribution of z where x = T(z) has the density of
 *  base; draws are T^-1 of base's. The flow must outlive the target. */
HS_API hs_target *hs_target_pull_back(hs_session *s, const hs_target *base, const hs_flow *flow);

#endif
