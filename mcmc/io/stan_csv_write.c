/* Writing of CmdStan's files. Which lines must be there, and how, is what cmdstanpy, cmdstanr, ArviZ
 * and stansummary insist on. */
#include "stan_csv_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/file.h>
#include <hastings/tensor/message.h>
#include "chain_formats_internal.h"
#include "csv_internal.h"

typedef struct {
    const hs_chains *chains;
    const hs_stan_csv_options *options;
    const char *model;
    const hs_chain_names *columns;
} content;

static void put_settings(hs_file *f, const content *w, const char *path, size_t chain)
{
    const char *slash = strrchr(path, '/');
    hs_file_print(f,
                  "# stan_version_major = 2\n"
                  "# stan_version_minor = 37\n"
                  "# stan_version_patch = 0\n"
                  "# model = %.200s\n"
                  "# method = sample (Default)\n"
                  "#   sample\n"
                  "#     num_samples = %zu\n"
                  "#     num_warmup = %zu\n"
                  "#     save_warmup = 0\n"
                  "#     thin = 1\n"
                  "#     adapt\n"
                  "#       engaged = 1\n",
                  w->model, w->chains->draws, w->options->warmup);
    hs_file_print(f,
                  "#     algorithm = hmc (Default)\n"
                  "#       hmc\n"
                  "#         engine = nuts (Default)\n"
                  "#           nuts\n"
                  "#             max_depth = 10 (Default)\n"
                  "#         metric = diag_e (Default)\n"
                  "#         stepsize = 1 (Default)\n"
                  "# id = %zu\n"
                  "# data\n"
                  "#   file =  (Default)\n"
                  "# init = 2 (Default)\n"
                  "# random\n"
                  "#   seed = %llu\n"
                  "# output\n"
                  "#   file = %.200s\n",
                  chain + 1, (unsigned long long)w->options->seed, slash ? slash + 1 : path);
}

static void put_header(hs_file *f, const content *w)
{
    hs_file_print(f, "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__");
    if (w->chains->jump)
        hs_file_print(f, ",jump__");
    if (w->chains->accepted)
        hs_file_print(f, ",accepted__");
    for (size_t i = 0; i < w->columns->count; i++) {
        hs_file_put(f, ",", 1);
        hs_file_put(f, w->columns->name[i], strlen(w->columns->name[i]));
    }
    hs_file_put(f, "\n", 1);
    hs_file_print(f, "# Adaptation terminated\n"
                     "# Step size = 1\n"
                     "# Diagonal elements of inverse mass matrix:\n"
                     "# 1");
    for (size_t i = 1; i < w->chains->dim; i++)
        hs_file_put(f, ", 1", 3);
    hs_file_put(f, "\n", 1);
}

/* The number in digits that give it back when read; after `before`. */
static void put_number(hs_file *f, const char *before, double value)
{
    if (isnan(value))
        hs_file_print(f, "%snan", before);
    else
        hs_file_print(f, "%s%.17g", before, value);
}

static void put_draw(hs_file *f, const hs_chains *c, size_t chain, size_t draw)
{
    const size_t at = chain * c->draws + draw;
    const double log_pi = c->log_pi ? c->log_pi[at] : (double)NAN;
    put_number(f, "", log_pi);
    put_number(f, ",", c->alpha ? c->alpha[at] : (double)NAN);
    hs_file_print(f, ",1,1,1,0"); /* step size, depth, steps, divergent: as of a sampler without */
    put_number(f, ",", -log_pi);
    if (c->jump)
        put_number(f, ",", c->jump[at]);
    if (c->accepted)
        hs_file_put(f, c->accepted[at] ? ",1" : ",0", 2);
    const double *x = hs_chains_draw(c, chain, draw);
    for (size_t i = 0; i < c->dim; i++)
        put_number(f, ",", x[i]);
    hs_file_put(f, "\n", 1);
}

/* stansummary reads the time from column 17 on. */
static void put_times(hs_file *f, const hs_chains *c)
{
    hs_file_print(f,
                  "# \n"
                  "#  Elapsed Time: 0 seconds (Warm-up)\n"
                  "#                %.9f seconds (Sampling)\n"
                  "#                %.9f seconds (Total)\n"
                  "# \n",
                  c->seconds, c->seconds);
}

static hs_status save_chain(const content *w, const char *path, size_t chain, hs_message *message)
{
    hs_file f;
    hs_file_create(&f, path, message);
    put_settings(&f, w, path, chain);
    put_header(&f, w);
    for (size_t n = 0; n < w->chains->draws && f.status == HS_OK; n++)
        put_draw(&f, w->chains, chain, n);
    put_times(&f, w->chains);
    return hs_file_commit(&f);
}

static hs_status save_chains(const content *w, const char *stem, hs_message *message)
{
    const size_t size = strlen(stem) + 32;
    char *path = hs_alloc(size);
    csv_locale locale;
    if (!path || !hs__csv_begin_numbers(&locale)) {
        hs_free(path);
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", stem);
    }
    hs_status status = HS_OK;
    for (size_t m = 0; m < w->chains->chains && status == HS_OK; m++) {
        snprintf(path, size, "%s_%zu.csv", stem, m + 1);
        status = save_chain(w, path, m, message);
    }
    hs__csv_end_numbers(&locale);
    hs_free(path);
    return status;
}

hs_status hs_chains_save_stan_csv(const hs_chains *c, const hs_stan_csv_options *options,
                                  const char *stem, hs_message *message)
{
    hs_message_clear(message);
    if (!c || !c->x || !stem || c->chains == 0 || c->draws == 0 || c->dim == 0)
        return hs_message_fail(
            message, HS_EINVAL,
            "hs_chains_save_stan_csv: no chains, no draws or no stem of the path");
    const hs_stan_csv_options o = options ? *options : (hs_stan_csv_options){ 0 };
    for (size_t i = 0; o.names && i < c->dim; i++)
        if (!o.names[i])
            return hs_message_fail(message, HS_EINVAL, "%.300s: name %zu of %zu is missing", stem,
                                   i, c->dim);
    hs_chain_names columns;
    const bool named = hs__stan_column_names(o.names, c->dim, &columns);
    const char *model = hs__stan_plain_name(&columns.text, o.model ? o.model : "hastings_model");
    hs_status status;
    if (named && model)
        status = save_chains(&(content){ c, &o, model, &columns }, stem, message);
    else
        status = hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory for names", stem);
    hs_chain_names_free(&columns);
    return status;
}

hs_status hs__stan_csv_write(const hs_chains *c, const char *const *names, const char *path,
                             hs_message *message)
{
    const size_t length = strlen(path) - strlen(".csv");
    char *stem = hs_alloc(length + 1);
    if (!stem)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", path);
    memcpy(stem, path, length);
    stem[length] = '\0';
    const hs_status status =
        hs_chains_save_stan_csv(c, &(hs_stan_csv_options){ .names = names }, stem, message);
    hs_free(stem);
    return status;
}
