/* Every proposal of the library, and one of a user's own, with parameters that are nowhere special. */
#ifndef HASTINGS_TESTS_SUPPORT_MCMC_CATALOGUE_H
#define HASTINGS_TESTS_SUPPORT_MCMC_CATALOGUE_H

#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>

#include "mcmc_common.h"

/* Moves all parameters by normal noise. */
MT_MAYBE void mt_perturb(const hs_proposal *p, double sd, uint64_t seed)
{
    hs_params *ps = hs_proposal_params(p);
    const size_t n = hs_params_size(ps);
    double *values = malloc(n * sizeof *values), *noise = malloc(n * sizeof *noise);
    hs_params_get(ps, values);
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = seed, .stream = 77, .step = 0 }, 0, 1,
                   n, noise);
    for (size_t i = 0; i < n; i++)
        values[i] += sd * noise[i];
    hs_params_set(ps, values);
    free(values);
    free(noise);
}

static const double mt_scale_values[] = { 0.6, 1.7, 1.1 };
static const double mt_start_mean[] = { 0.4, -0.3, 0.1 }, mt_start_sd[] = { 0.8, 1.3, 0.6 };

MT_MAYBE hs_proposal *mt_perturbed(hs_proposal *p, double sd)
{
    if (p)
        mt_perturb(p, sd, 5);
    return p;
}

typedef hs_proposal *mt_maker(hs_session *s, const hs_target *t);

MT_MAYBE hs_proposal *mk_walk(hs_session *s, const hs_target *t)
{
    return hs_random_walk(s, &(hs_walk_options){ .dim = hs_target_dim(t), .step = 0.7 });
}
MT_MAYBE hs_proposal *mk_walk_diagonal(hs_session *s, const hs_target *t)
{
    return mt_perturbed(
        hs_random_walk(
            s, &(hs_walk_options){ .dim = hs_target_dim(t), .step = 0.9, .diagonal = true }),
        0.2);
}
MT_MAYBE hs_proposal *mk_walk_log(hs_session *s, const hs_target *t)
{
    return hs_random_walk(s, &(hs_walk_options){ .dim = hs_target_dim(t), .log_step = true });
}
MT_MAYBE hs_proposal *mk_walk_scaled(hs_session *s, const hs_target *t)
{
    return hs_random_walk(
        s, &(hs_walk_options){ .dim = hs_target_dim(t), .step = 0.8, .scale = mt_scale_values });
}
MT_MAYBE hs_proposal *mk_walk_all(hs_session *s, const hs_target *t)
{
    return mt_perturbed(hs_random_walk(s, &(hs_walk_options){ .dim = hs_target_dim(t),
                                                              .step = 0.8,
                                                              .log_step = true,
                                                              .diagonal = true,
                                                              .scale = mt_scale_values }),
                        0.3);
}
MT_MAYBE hs_proposal *mk_mala(hs_session *s, const hs_target *t)
{
    return hs_mala(s, t, &(hs_walk_options){ .step = 0.3 });
}
MT_MAYBE hs_proposal *mk_mala_diagonal(hs_session *s, const hs_target *t)
{
    return mt_perturbed(hs_mala(s, t, &(hs_walk_options){ .step = 0.4, .diagonal = true }), 0.1);
}
MT_MAYBE hs_proposal *mk_mala_scaled(hs_session *s, const hs_target *t)
{
    return hs_mala(s, t,
                   &(hs_walk_options){ .step = 0.2, .log_step = true, .scale = mt_scale_values });
}
MT_MAYBE hs_proposal *mk_mala_all(hs_session *s, const hs_target *t)
{
    return mt_perturbed(
        hs_mala(s, t,
                &(hs_walk_options){ .step = 0.2, .diagonal = true, .scale = mt_scale_values }),
        0.05);
}
/* Networks large enough that they matter: a plain initialisation of relu networks is nearly 0. */
MT_MAYBE hs_proposal *mk_networks(hs_session *s, const hs_target *t)
{
    return mt_perturbed(hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = hs_target_dim(t) }),
                        0.15);
}
MT_MAYBE hs_proposal *mk_networks_flow(hs_session *s, const hs_target *t)
{
    return mt_perturbed(hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = hs_target_dim(t),
                                                                       .couplings = 3,
                                                                       .coupling_width = 6,
                                                                       .coupling_depth = 2,
                                                                       .width = 8,
                                                                       .depth = 2 }),
                        0.2);
}
MT_MAYBE hs_proposal *mk_networks_tanh(hs_session *s, const hs_target *t)
{
    return mt_perturbed(hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = hs_target_dim(t),
                                                                       .couplings = 2,
                                                                       .width = 5,
                                                                       .depth = 1,
                                                                       .activation = HS_TANH }),
                        0.2);
}
MT_MAYBE hs_proposal *mk_networks_plain(hs_session *s, const hs_target *t)
{
    return mt_perturbed(hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = hs_target_dim(t),
                                                                       .width = 5,
                                                                       .depth = 2,
                                                                       .activation = HS_TANH }),
                        0.2);
}
MT_MAYBE hs_proposal *mt_scheme(hs_session *s, const hs_target *t, hs_scheme scheme,
                                size_t couplings)
{
    return hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = hs_target_dim(t),
                                                          .couplings = couplings,
                                                          .coupling_width = 5,
                                                          .coupling_depth = 2,
                                                          .width = 8,
                                                          .depth = 2,
                                                          .start = scheme,
                                                          .mean = mt_start_mean,
                                                          .sd = mt_start_sd,
                                                          .step = 0.8,
                                                          .noise = 0.1 });
}
MT_MAYBE hs_proposal *mk_as_resampling(hs_session *s, const hs_target *t)
{
    return mt_scheme(s, t, HS_AS_RESAMPLING, 0);
}
MT_MAYBE hs_proposal *mk_as_walk(hs_session *s, const hs_target *t)
{
    return mt_scheme(s, t, HS_AS_RANDOM_WALK, hs_target_dim(t) > 1 ? 2 : 0);
}
MT_MAYBE hs_proposal *mk_as_mala(hs_session *s, const hs_target *t)
{
    return mt_scheme(s, t, HS_AS_MALA, 0);
}
MT_MAYBE hs_proposal *mk_as_latent(hs_session *s, const hs_target *t)
{
    return mt_perturbed(mt_scheme(s, t, HS_AS_LATENT, 3), 0.1);
}
MT_MAYBE hs_proposal *mk_mixture(hs_session *s, const hs_target *t)
{
    return mt_perturbed(
        hs_position_mixture(s, &(hs_position_mixture_options){ .dim = hs_target_dim(t),
                                                               .components = 3,
                                                               .width = 6,
                                                               .depth = 2,
                                                               .activation = HS_TANH,
                                                               .sd = 0.9 }),
        0.4);
}
MT_MAYBE hs_proposal *mk_mixture_diagonal(hs_session *s, const hs_target *t)
{
    const double means[] = { -1, 0.5, 1, 1, -0.5, 0.3 };
    return mt_perturbed(
        hs_position_mixture(s, &(hs_position_mixture_options){ .dim = hs_target_dim(t),
                                                               .components = 2,
                                                               .width = 6,
                                                               .depth = 1,
                                                               .means = means,
                                                               .diagonal = true }),
        0.3);
}
MT_MAYBE hs_proposal *mk_independent(hs_session *s, const hs_target *t)
{
    hs_params *ps = hs_session_params(s, 3);
    hs_flow *flow = hs_flow_affine_new(ps, &(hs_affine_options){ .dim = hs_target_dim(t),
                                                                 .couplings = 3,
                                                                 .width = 5,
                                                                 .depth = 1,
                                                                 .activation = HS_TANH });
    return mt_perturbed(hs_independent_flow(s, flow, ps), 0.2);
}
MT_MAYBE hs_proposal *mk_user(hs_session *s, const hs_target *t)
{
    return mt_user_walk(s, hs_target_dim(t));
}
MT_MAYBE hs_proposal *mk_kernels(hs_session *s, const hs_target *t)
{
    return hs_kernel_mixture(s, mk_mala(s, t), mk_networks(s, t), 0.3);
}
MT_MAYBE hs_proposal *mk_kernels_nested(hs_session *s, const hs_target *t)
{
    return hs_kernel_mixture(s, mk_mixture(s, t),
                             hs_kernel_mixture(s, mk_walk(s, t), mk_user(s, t), 0.6), 0.45);
}
MT_MAYBE hs_proposal *mk_hmc(hs_session *s, const hs_target *t)
{
    return hs_hmc(s, t, &(hs_hmc_options){ .leapfrogs = 3, .step = 0.2, .scale = mt_scale_values });
}
MT_MAYBE hs_proposal *mk_hmc_kernels(hs_session *s, const hs_target *t)
{
    return hs_kernel_mixture(s, mk_hmc(s, t), mk_mixture(s, t), 0.5);
}

typedef struct {
    const char *name;
    mt_maker *make;
    size_t least;    /* dimensions */
    bool density;    /* has log_density: not made of moves */
    bool quadrature; /* log g of each of its moves is a density of y */
    bool smooth;     /* in its parameters */
} mt_entry;

static const mt_entry mt_catalogue[] = {
    { "walk", mk_walk, 1, true, true, true },
    { "walk diagonal", mk_walk_diagonal, 1, true, true, true },
    { "walk log", mk_walk_log, 1, true, true, true },
    { "walk scaled", mk_walk_scaled, 1, true, true, true },
    { "walk all", mk_walk_all, 1, true, true, true },
    { "mala", mk_mala, 1, true, true, true },
    { "mala diagonal", mk_mala_diagonal, 1, true, true, true },
    { "mala scaled", mk_mala_scaled, 1, true, true, true },
    { "mala all", mk_mala_all, 1, true, true, true },
    { "networks", mk_networks, 1, true, true, false },
    { "networks flow", mk_networks_flow, 2, true, true, false },
    { "networks tanh", mk_networks_tanh, 2, true, true, true },
    { "networks plain", mk_networks_plain, 1, true, true, true },
    { "as resampling", mk_as_resampling, 1, true, true, false },
    { "as walk", mk_as_walk, 1, true, true, false },
    { "as mala", mk_as_mala, 1, true, true, false },
    { "as latent", mk_as_latent, 2, true, true, false },
    { "independent", mk_independent, 1, true, true, true },
    { "user", mk_user, 1, true, true, true },
    { "mixture", mk_mixture, 1, false, true, true },
    { "mixture diagonal", mk_mixture_diagonal, 1, false, true, true },
    { "kernels", mk_kernels, 1, false, false, true },
    { "kernels nested", mk_kernels_nested, 1, false, false, true },
    { "hmc", mk_hmc, 1, false, false, true },
    { "hmc kernels", mk_hmc_kernels, 1, false, false, true },
};
enum { MT_ENTRIES = sizeof mt_catalogue / sizeof *mt_catalogue };

#endif
