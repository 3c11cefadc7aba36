/* Fits Ab Initio's coefficient A to what theory says about random walks and MALA in 1000
 * dimensions.
 *
 *     fit [rows]      1000000 rows take half a minute; errors fall with the square root of rows
 */
#include <hastings/objectives/fit.h>
#include <hastings/objectives/objectives.h>
#include <stdio.h>
#include <stdlib.h>

static void show(const char *what, hs_status status, const hs_fit *fit)
{
    if (!status)
        printf("%-32s A = %.5f +- %.5f%s\n", what, fit->coefficient[0], fit->error[0],
               fit->converged ? "" : "  (not converged)");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    const hs_fit_options options = { .sampling = { .rows = rows } };
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference both[] = { hs_reference_walk(s, 1000), hs_reference_mala(s, 1000) };
    hs_fit fit;

    hs_status status = hs_fit_newton(&both[0], NULL, &options, &fit);
    show("random walk, 0.234", status, &fit);
    status = hs_fit_newton(&both[1], NULL, &options, &fit);
    show("MALA, 0.574", status, &fit);
    status = hs_fit_linear(both, 2, 0.18, 0.255, NULL, &options, &fit);
    show("both, by straight lines", status, &fit);
    status = hs_fit_least_squares(both, 2, NULL, &options, &fit);
    show("both, by least squares", status, &fit);
    status = hs_fit_stochastic(both, 2, NULL,
                               &(hs_fit_options){ .sampling = { .rows = rows / 100 } }, &fit);
    show("both, stochastic", status, &fit);

    /* What the paper's coefficients lead to. */
    static const double paper[] = { 0.18125, 0.21510, 0.25324 };
    for (int i = 0; i < 3; i++) {
        const hs_objective o = hs_ab_initio(paper[i]);
        hs_optimum at[2];
        for (int k = 0; k < 2; k++)
            status = hs_reference_optimum(&both[k], &o, &options.sampling, &at[k]);
        if (!status)
            printf("A = %.5f accepts %.4f +- %.4f (random walk), %.4f +- %.4f (MALA)\n", paper[i],
                   at[0].acceptance, at[0].acceptance_error, at[1].acceptance,
                   at[1].acceptance_error);
    }
    status = hs_session_status(s);
    if (status)
        fprintf(stderr, "%s\n", hs_session_error(s));
    hs_session_free(s);
    return status != HS_OK;
}
