#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/objectives/fit.h>

typedef enum { NEWTON, LINES, LEAST_SQUARES, STOCHASTIC } method;

static const char *const method_name[] = { "newton", "lines", "least-squares", "stochastic" };

static hs_status run_fit(method how, const hs_reference *r, size_t n, const hs_fit_options *o,
                         hs_fit *fit)
{
    switch (how) {
    case NEWTON:
        return hs_fit_newton(r, NULL, o, fit);
    case LINES: /* between the coefficients of the two problems, as the paper did */
        return hs_fit_linear(r, n, 0.18, 0.255, NULL, o, fit);
    case LEAST_SQUARES:
        return hs_fit_least_squares(r, n, NULL, o, fit);
    case STOCHASTIC:
        return hs_fit_stochastic(r, n, NULL, o, fit);
    }
    return HS_EINVAL;
}

static int print_fit(const app_call *call, const char *what, method how, size_t dim,
                     const hs_reference *r, size_t n, const hs_fit *fit)
{
    if (call->json) {
        json_t *acceptance = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(acceptance,
                                  json_pack("{s:f, s:o}", "wanted", r[i].acceptance, "reached",
                                            app_json_number(fit->acceptance[i])));
        return app_call_print_json(
            call, json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:i, s:b}", "problem", what, "method",
                            method_name[how], "dim", (json_int_t)dim, "coefficient",
                            app_json_number(fit->coefficient[0]), "error",
                            app_json_number(fit->error[0]), "acceptance", acceptance, "iterations",
                            fit->iterations, "converged", fit->converged));
    }
    printf("A = %.5f +- %.5f\n", fit->coefficient[0], fit->error[0]);
    for (size_t i = 0; i < n; i++)
        printf("acceptance %.4f, where theory says %.3f\n", fit->acceptance[i], r[i].acceptance);
    return APP_EXIT_OK;
}

static int fit(const app_call *call)
{
    const app_arguments *a = call->arguments;
    const char *what = a->word[0], *wanted = app_given_text(a, "method");
    const bool walk = !strcmp(what, "walk"), mala = !strcmp(what, "mala"),
               both = !strcmp(what, "both");
    if (!walk && !mala && !both)
        return app_call_fail(call, HS_EINVAL, "a fit is of walk, mala or both, not of \"%.60s\"",
                             what);
    method how = both ? LEAST_SQUARES : NEWTON;
    for (int i = 0; wanted && i < 4; i++)
        how = !strcmp(wanted, method_name[i]) ? (method)i : how;
    if (both && how == NEWTON)
        return app_call_fail(call, HS_EINVAL,
                             "--method newton is for one problem, walk or mala; both "
                             "need lines, least-squares or stochastic");
    const size_t dim = app_given_count(a, "dim", 1000), n = both ? 2 : 1;
    const size_t rows = app_given_count(a, "rows", how == STOCHASTIC ? 10000 : 1000000);
    hs_session *s = hs_session_new(
        &(hs_session_options){ .seed = app_given_count(a, "seed", 1), .threads = call->threads });
    hs_reference r[2];
    size_t k = 0;
    if (walk || both)
        r[k++] = hs_reference_walk(s, dim);
    if (mala || both)
        r[k++] = hs_reference_mala(s, dim);
    hs_fit result;
    const hs_fit_options options = { .sampling = { .rows = rows } };
    const hs_status status =
        hs_session_status(s) ? hs_session_status(s) : run_fit(how, r, n, &options, &result);
    int code;
    if (status)
        code = app_call_fail_session(call, s);
    else
        code = print_fit(call, what, how, dim, r, n, &result);
    if (!status && !result.converged)
        app_call_note(call, "The fit did not converge in %d iterations; more --rows may help.",
                      result.iterations);
    hs_session_free(s);
    return code;
}

static const app_option options[] = {
    { "dim", APP_OPTION_COUNT, "N", "dimensions of the normal target; default: 1000" },
    { "rows", APP_OPTION_COUNT, "N",
      "draws of each mean; default: 1000000, or 10000 in each iteration if stochastic" },
    { "method", APP_OPTION_CHOICE, "newton|lines|least-squares|stochastic",
      "method of the fit; default: newton for walk or mala, least-squares for both" },
    { "seed", APP_OPTION_WHOLE, "N", "seed of all random numbers; default: 1" },
    { 0 },
};

const app_command app_command_fit = {
    .name = "fit",
    .words = "walk|mala|both",
    .summary = "fit Ab Initio's coefficient to the acceptance rates of theory",
    .about =
        "Fits the coefficient A of the Ab Initio objective: with it, training on a normal target "
        "reaches the acceptance rate that theory calls optimal, which is 0.234 for random walks "
        "(walk) and 0.574 for MALA (mala), or comes as close as possible to both (both). The "
        "command prints A and its Monte-Carlo error, which falls with the square root of --rows.",
    .examples = "hastings fit walk --rows 100000\n"
                "hastings fit both --method lines --rows 100000\n"
                "hastings fit mala --dim 100 --json",
    .options = options,
    .least = 1,
    .most = 1,
    .complete = "walk|mala|both",
    .run = fit,
};
