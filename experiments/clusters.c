#include <math.h>
#include <string.h>

#include "clusters_internal.h"
#include <hastings/mcmc/proposal.h>

static double squared_distance(const double *a, const double *b, size_t dim)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* The nearest of the first k centres, and how far it is. */
static size_t nearest(const double *x, const double *centre, size_t k, size_t dim, double *least)
{
    size_t best = 0;
    *least = INFINITY;
    for (size_t c = 0; c < k; c++) {
        const double d = squared_distance(x, centre + c * dim, dim);
        if (d < *least) {
            *least = d;
            best = c;
        }
    }
    return best;
}

static void seed_centres(const app_points *p, size_t k, double *centre)
{
    memcpy(centre, p->x, p->dim * sizeof *centre);
    for (size_t c = 1; c < k; c++) {
        double farthest = -1, d;
        for (size_t i = 0; i < p->n; i++) {
            nearest(p->x + i * p->dim, centre, c, p->dim, &d);
            if (d > farthest) {
                farthest = d;
                memcpy(centre + c * p->dim, p->x + i * p->dim, p->dim * sizeof *centre);
            }
        }
    }
}

double app_find_clusters(const app_points *p, size_t k, double *centre)
{
    enum { ROUNDS = 20, MOST = HS_MAX_WAYS };
    k = k < MOST ? k : MOST;
    seed_centres(p, k, centre);
    double spread = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count[MOST] = { 0 };
        spread = 0;
        /* A running mean of the points that were nearest to the old centre. */
        double next[MOST * CLUSTER_DIM] = { 0 };
        for (size_t i = 0; i < p->n; i++) {
            const double *x = p->x + i * p->dim;
            double d;
            const size_t c = nearest(x, centre, k, p->dim, &d);
            count[c]++;
            spread += d;
            for (size_t j = 0; j < p->dim; j++)
                next[c * CLUSTER_DIM + j] += (x[j] - next[c * CLUSTER_DIM + j]) / (double)count[c];
        }
        for (size_t c = 0; c < k; c++)
            if (count[c])
                memcpy(centre + c * p->dim, next + c * CLUSTER_DIM, p->dim * sizeof *centre);
    }
    return sqrt(spread / (double)(p->n * p->dim));
}
