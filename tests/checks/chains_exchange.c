/* What chains_in_arviz.py compares with Python.
 *
 *     chains_exchange write DIRECTORY   writes known chains as draws.nc, named.nc and draws_1.csv ...,
 *                                       and prints what hs_diagnose() says of each coordinate
 *     chains_exchange read FILE...      prints the name of each coordinate, and its draws in order */
#include <stdio.h>
#include <string.h>

#include <hastings.h>

enum { CHAINS = 4, DRAWS = 501, DIM = 3 };

static int fail(const hs_message *message)
{
    fprintf(stderr, "%s\n", message->text);
    return 1;
}

/* Sequences that any language can compute exactly: coordinate i of chain m starts at 1 + m + 10 i. */
static void fill(hs_chains *c)
{
    static const double phi[DIM] = { 0, 0.9, -0.6 };
    for (size_t m = 0; m < CHAINS; m++) {
        for (size_t i = 0; i < DIM; i++) {
            uint32_t state = (uint32_t)(1 + m + 10 * i);
            double x = 0;
            for (size_t n = 0; n < DRAWS; n++) {
                state = 1664525u * state + 1013904223u;
                x = phi[i] * x + (state / 4294967296.0 - 0.5);
                hs_chains_draw(c, m, n)[i] = x;
            }
        }
        for (size_t n = 0; n < DRAWS; n++) {
            const size_t at = m * DRAWS + n;
            c->log_pi[at] = -(double)at / 7;
            c->alpha[at] = (double)(n % 11) / 10;
            c->jump[at] = (double)n / 3;
            c->accepted[at] = n % 3 == 0;
        }
    }
    c->proposals = CHAINS * DRAWS;
    c->gradients = 12345678901;
    c->nonfinite = 2;
    c->seconds = 1.25;
}

static void print_report(const hs_report *r)
{
    for (size_t i = 0; i < DIM; i++) {
        const hs_series_summary *s = &r->coordinate[i];
        printf("raw %.17g mean %.17g bulk %.17g tail %.17g sd %.17g rank %.17g split %.17g "
               "mcse %.17g\n",
               s->ess[HS_ESS_RAW], s->ess[HS_ESS_MEAN], s->ess[HS_ESS_BULK], s->ess[HS_ESS_TAIL],
               s->ess[HS_ESS_SD], s->rhat, s->rhat_split, s->mcse_mean);
    }
}

static int write_all(const char *directory)
{
    static const char *const names[DIM] = { "intercept", "age", "loan, \xe2\x82\xac" };
    char path[1000];
    hs_chains *c;
    hs_message message;
    if (hs_chains_new(&c, CHAINS, DRAWS, DIM, HS_KEEP_ALL, &message))
        return fail(&message);
    fill(c);
    snprintf(path, sizeof path, "%s/draws.nc", directory);
    hs_status status = hs_chains_save_netcdf(c, NULL, path, &message);
    snprintf(path, sizeof path, "%s/named.nc", directory);
    const hs_netcdf_options options = { .name = "weights",
                                        .labels = names,
                                        .created_at = "2026-01-31T12:00:00Z",
                                        .title = "a regression" };
    if (!status)
        status = hs_chains_save_netcdf(c, &options, path, &message);
    snprintf(path, sizeof path, "%s/draws", directory);
    if (!status)
        status = hs_chains_save_stan_csv(c, &(hs_stan_csv_options){ .warmup = 100, .seed = 7 },
                                         path, &message);
    hs_report report;
    if (!status)
        status = hs_diagnose(c, NULL, &report, &message);
    hs_chains_free(c);
    if (status)
        return fail(&message);
    print_report(&report);
    hs_report_free(&report);
    return 0;
}

static int read_all(const char *const *paths, size_t count)
{
    hs_chains *c;
    hs_chain_names names;
    hs_message message;
    if (hs_chains_read(&c, &names, paths, count, &message))
        return fail(&message);
    for (size_t i = 0; i < c->dim; i++) {
        printf("%s", names.name[i]);
        for (size_t row = 0; row < c->chains * c->draws; row++)
            printf("\t%.17g", c->x[row * c->dim + i]);
        printf("\n");
    }
    hs_chain_names_free(&names);
    hs_chains_free(c);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_all(argv[2]);
    if (argc > 2 && strcmp(argv[1], "read") == 0)
        return read_all((const char *const *)argv + 2, (size_t)argc - 2);
    fprintf(stderr, "usage: chains_exchange write DIRECTORY | read FILE...\n");
    return 2;
}
