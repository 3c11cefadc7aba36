/* A program with functions whose names the library might use for its own: each must go on calling its own. */
#include <hastings.h>
#include <stdio.h>
#include <string.h>

static int calls;

double now_seconds(void);
double normal_quantile(double p);
bool all_positive(const double *x, size_t n);
double cholesky_solve(double x);
void put_bytes(const void *bytes, size_t n);

double now_seconds(void)
{
    calls++;
    return 0;
}

double normal_quantile(double p)
{
    calls++;
    return p;
}

bool all_positive(const double *x, size_t n)
{
    calls++;
    return x && n;
}

double cholesky_solve(double x)
{
    calls++;
    return x;
}

void put_bytes(const void *bytes, size_t n)
{
    calls += bytes && n;
}

int main(void)
{
    if (strncmp(hs_version(), "0.", 2) != 0)
        return 1;
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    hs_target *target = hs_target_gaussian(s, 2, NULL);
    hs_proposal *walk = hs_random_walk(s, &(hs_walk_options){ .dim = 2, .step = 2 });
    hs_chains *chains =
        hs_sample(s, target, walk, &(hs_sample_options){ .chains = 4, .draws = 500 });
    hs_message message = { "" };
    hs_report report;
    bool ok = chains && hs_diagnose(chains, NULL, &report, &message) == HS_OK;
    if (ok) {
        ok = report.rhat < 1.2 && report.ess[HS_ESS_BULK].min > 20;
        hs_report_free(&report);
    }
    ok = ok && hs_chains_write(chains, NULL, "own_names.npy", &message) == HS_OK;
    if (!ok)
        fprintf(stderr, "%s%s\n", hs_session_error(s), message.text);
    hs_session_free(s);
    if (calls)
        fprintf(stderr, "the library called functions of this program %d times\n", calls);
    return !ok || calls || now_seconds() != 0 || normal_quantile(0.5) != 0.5 || calls != 2;
}
