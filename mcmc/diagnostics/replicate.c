#include <hastings/mcmc/diagnostics/replicate.h>

#include <math.h>

hs_status hs_replicate(size_t replicas, hs_replica run, void *context, hs_figure *figures, size_t n)
{
    double figure[HS_MOST_FIGURES];
    size_t done = 0;
    if (replicas == 0 || !run || n > HS_MOST_FIGURES)
        return HS_EINVAL;
    for (size_t i = 0; i < n; i++)
        figures[i] = (hs_figure){ 0, 0, 0, 0 };
    while (done < replicas && run(done, figure, context)) {
        done++;
        for (size_t i = 0; i < n; i++) { /* running mean and squared deviations (Welford 1962) */
            hs_figure *f = &figures[i];
            if (isnan(figure[i]))
                continue;
            const double before = figure[i] - f->mean;
            f->mean += before / (double)++f->count;
            f->sd += before * (figure[i] - f->mean);
        }
    }
    for (size_t i = 0; i < n; i++) {
        hs_figure *f = &figures[i];
        f->sd = f->count > 1 ? sqrt(f->sd / (double)(f->count - 1)) : (double)NAN;
        f->error = f->sd / sqrt((double)f->count);
        if (f->count == 0)
            f->mean = (double)NAN;
    }
    return done ? HS_OK : HS_EINVAL;
}
