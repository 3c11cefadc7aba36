/* Samples a logistic-regression posterior with HMC: ./run example posterior [data.csv [draws]]
 * Prints the diagnostics, and 2 tr(covariance): the squared jump of independent draws. */
#include <hastings.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAINS = 50 };

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "data/pima.csv";
    hs_message message;
    hs_dataset *data;
    if (hs_dataset_load_csv(&data, path, NULL, &message)) {
        fprintf(stderr, "%s\n", message.text);
        return 1;
    }
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    hs_target *target = hs_target_logistic(s, data, NULL);
    const size_t d = hs_target_dim(target);

    /* All chains start at the mode; tuning spreads them. */
    double *points = calloc((d + CHAINS) * d, sizeof *points), *covariance = points + CHAINS * d;
    hs_laplace_approximation(s, target, NULL, points, covariance);
    for (size_t i = d; i < CHAINS * d; i++)
        points[i] = points[i % d];
    hs_proposal *hmc = hs_hmc(s, target, NULL);
    hs_tuning tuning = { 0 };
    hs_tune(s, target, hmc, &(hs_tune_options){ .chains = CHAINS, .points = points, .last = points },
            &tuning);
    hs_chains *c = hs_sample(s, target, hmc, &(hs_sample_options){
        .chains = CHAINS, .draws = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000,
        .points = points, .n_points = CHAINS });

    hs_report report;
    if (c && !hs_diagnose(c, NULL, &report, &message)) {
        printf("%s: %zu weights; step %.3f, acceptance while tuning %.2f\n", path, d, tuning.step,
               tuning.alpha);
        hs_report_print(stdout, &report);
        double trace = 0;
        for (size_t i = 0; i < d; i++) {
            double mean = 0, square = 0;
            const size_t n = c->chains * c->draws;
            for (size_t k = 0; k < n; k++)
                mean += c->x[k * d + i] / (double)n;
            for (size_t k = 0; k < n; k++)
                square += (c->x[k * d + i] - mean) * (c->x[k * d + i] - mean) / (double)n;
            trace += square;
        }
        printf("2 tr(covariance) = %.4f\n", 2 * trace);
        hs_report_free(&report);
    }
    const bool failed = hs_session_status(s) != HS_OK;
    if (failed)
        fprintf(stderr, "%s\n", hs_session_error(s));
    free(points);
    hs_session_free(s);
    hs_dataset_free(data);
    return failed;
}
