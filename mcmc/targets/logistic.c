#include <hastings/mcmc/targets/targets.h>

#include <math.h>

#include "targets_internal.h"

#undef HS_HERE
#define HS_HERE "target \"logistic\""

typedef struct {
    size_t dim;
    double prior_sd;
    target_array against; /* [rows][dim]: features, negative where the label is 1 */
    double log_constant;  /* of the prior */
} logistic;

/* log P(label | b) = -log(1 + e^t) = -softplus(t), where t = (1 - 2 label) x . b is the logit of
 * the other label: finite, and accurate, for any t. */
static hs_var log_density(void *self, hs_var b)
{
    const logistic *l = self;
    hs_var t = hs_matmul(hs__target_array_at(&l->against, b.tape, HS_HERE), b);
    hs_var misfit = hs_sum_last(hs_softplus(t));
    hs_var z = hs_scale(b, 1 / l->prior_sd);
    hs_var log_prior = hs_shift(hs_scale(hs_dot(z, z), -0.5), l->log_constant);
    return hs_sub(log_prior, misfit);
}

static bool check_data(hs_session *s, const hs_dataset *data)
{
    const size_t rows = data->rows, columns = data->columns;
    const double *x = data->x, *label = data->y;
    size_t ones = 0;
    if (rows == 0 || columns == 0)
        return SESSION_FALSE(s, HS_EINVAL,
                             "target \"logistic\": the data have %zu rows and %zu columns", rows,
                             columns);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++)
            if (!isfinite(x[i * columns + j]))
                return SESSION_FALSE(s, HS_EINVAL,
                                     "target \"logistic\": row %zu, column %zu of the data is %g",
                                     i, j, x[i * columns + j]);
        if (label[i] != 0 && label[i] != 1)
            return SESSION_FALSE(s, HS_EINVAL,
                                 "target \"logistic\": the label of row %zu is %g, and not 0 or 1",
                                 i, label[i]);
        ones += label[i] == 1;
    }
    if (ones == 0 || ones == rows)
        return SESSION_FALSE(s, HS_EINVAL,
                             "target \"logistic\": all %zu labels are %d: there is one class", rows,
                             ones > 0);
    return true;
}

hs_target *hs_target_logistic(hs_session *s, const hs_dataset *data,
                              const hs_logistic_options *options)
{
    if (!data)
        return SESSION_NULL(s, HS_EINVAL, "target \"logistic\": there are no data");
    logistic *l = hs_session_alloc(s, sizeof *l);
    if (!l)
        return NULL;
    const size_t rows = data->rows, dim = data->columns;
    *l = (logistic){ .dim = dim,
                     .prior_sd = options && options->prior_sd != 0 ? options->prior_sd : 10 };
    if (!hs__all_positive(s, HS_HERE, "standard deviation of the prior", &l->prior_sd, 1) ||
        !check_data(s, data))
        return NULL;
    l->log_constant = -(double)dim * (0.5 * HS_LOG_2PI + log(l->prior_sd));
    const double *x = data->x, *label = data->y;
    double *to = hs__target_array_new(s, &l->against, "data", hs_dims(rows, dim));
    if (!to)
        return NULL;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < dim; j++)
            to[i * dim + j] = label[i] == 1 ? -x[i * dim + j] : x[i * dim + j];
    if (!hs__target_array_finish(s, &l->against))
        return NULL;
    return hs_target_new(
        s,
        &(hs_target_spec){ .name = "logistic", .dim = dim, .self = l, .log_density = log_density });
}
