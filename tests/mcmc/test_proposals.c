/* Proposals: densities integrate to 1, belong to the draws, and their reverse is their reverse. */
#include <hastings/autograd/check.h>

#include "support/mcmc_catalogue.h"

enum { MAX_DIM = 3, DRAWS = 20000, LINE = 3000, SIDE = 300, CELLS = 20 };

/* ---- Running a proposal from one x ------------------------------------------------------------ */

typedef struct {
    size_t rows, ways, dim;
    double *y[HS_MAX_WAYS], *fwd[HS_MAX_WAYS], *rev[HS_MAX_WAYS], *weight[HS_MAX_WAYS];
    double *direct, *reverse; /* log_density(y, x) and (x, y), of a proposal that has one */
} moved;

static double *column(const hs_plan *plan, hs_var v, size_t n)
{
    double *copy = malloc(n * sizeof *copy);
    memcpy(copy, hs_plan_get(plan, v), n * sizeof *copy);
    return copy;
}

/* All moves from each of the `starts` points x, with `rows` noises each. */
static moved run_moves(const hs_proposal *p, bool density, const double *x, size_t starts,
                       const double *n, size_t rows)
{
    const size_t dim = hs_proposal_dim(p), ways = hs_proposal_ways(p), all = starts * rows;
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var from = hs_input(tape, "x", HS_START, hs_dims(dim));
    hs_var noise = hs_input(tape, "n", HS_ROW, hs_dims(hs_proposal_normals(p)));
    hs_move m[HS_MAX_WAYS];
    hs_proposal_moves(p, from, noise, m);
    hs_var out[4 * HS_MAX_WAYS + 2];
    size_t count = 0;
    for (size_t k = 0; k < ways; k++) {
        out[count++] = m[k].y = hs_broadcast(m[k].y, hs_dims(dim), HS_ROW);
        out[count++] = m[k].log_g_fwd = hs_broadcast(m[k].log_g_fwd, hs_scalar_shape(), HS_ROW);
        out[count++] = m[k].log_g_rev = hs_broadcast(m[k].log_g_rev, hs_scalar_shape(), HS_ROW);
        out[count++] = m[k].weight = hs_broadcast(m[k].weight, hs_scalar_shape(), HS_ROW);
    }
    if (density) {
        out[count++] =
            hs_broadcast(hs_proposal_log_density(p, m[0].y, from), hs_scalar_shape(), HS_ROW);
        out[count++] =
            hs_broadcast(hs_proposal_log_density(p, from, m[0].y), hs_scalar_shape(), HS_ROW);
    }
    hs_plan *plan;
    hs_status status = hs_plan_new(&plan, out, count,
                                   &(hs_plan_options){ .starts = starts, .rows_per_start = rows });
    ck_assert_msg(!status, "%s", hs_tape_error(tape));
    hs_plan_set(plan, from, x);
    hs_plan_set(plan, noise, n);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    moved r = { .rows = all, .ways = ways, .dim = dim };
    for (size_t k = 0; k < ways; k++) {
        r.y[k] = column(plan, m[k].y, all * dim);
        r.fwd[k] = column(plan, m[k].log_g_fwd, all);
        r.rev[k] = column(plan, m[k].log_g_rev, all);
        r.weight[k] = column(plan, m[k].weight, all);
    }
    if (density) {
        r.direct = column(plan, out[count - 2], all);
        r.reverse = column(plan, out[count - 1], all);
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    return r;
}

static void forget(moved *r)
{
    for (size_t k = 0; k < r->ways; k++) {
        free(r->y[k]);
        free(r->fwd[k]);
        free(r->rev[k]);
        free(r->weight[k]);
    }
    free(r->direct);
    free(r->reverse);
}

static double *noise_rows(size_t rows, size_t normals, uint64_t seed)
{
    double *n = malloc(rows * normals * sizeof *n);
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = seed, .stream = 3, .step = 0 }, 0, rows,
                   normals, n);
    return n;
}

/* log g at given points y: directly, or for a mixture by the noise that leads there. */
static double *densities(const hs_proposal *p, bool density, const double *x, double *y_or_n,
                         size_t rows)
{
    if (!density) {
        moved m = run_moves(p, false, x, 1, y_or_n, rows);
        double *log_g = m.fwd[0];
        m.fwd[0] = NULL;
        forget(&m);
        return log_g;
    }
    const size_t dim = hs_proposal_dim(p);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var from = hs_input(tape, "x", HS_START, hs_dims(dim));
    hs_var to = hs_input(tape, "y", HS_ROW, hs_dims(dim));
    hs_var log_g = hs_proposal_log_density(p, to, from);
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &log_g, 1, &(hs_plan_options){ .rows_per_start = rows }),
                     HS_OK);
    hs_plan_set(plan, from, x);
    hs_plan_set(plan, to, y_or_n);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    double *copy = column(plan, log_g, rows);
    hs_plan_free(plan);
    hs_tape_free(tape);
    return copy;
}

/* ---- Charts: y = A c + b, in which the mass lies about the origin ------------------------------ */

typedef struct {
    size_t dim;
    double a[2][2], b[2], volume, reach;
} chart;

static void into_chart(const chart *t, const double *y, double *c)
{
    if (t->dim == 1) {
        c[0] = (y[0] - t->b[0]) / t->a[0][0];
        return;
    }
    const double u = y[0] - t->b[0], v = y[1] - t->b[1];
    const double det = t->a[0][0] * t->a[1][1] - t->a[0][1] * t->a[1][0];
    c[0] = (u * t->a[1][1] - v * t->a[0][1]) / det;
    c[1] = (v * t->a[0][0] - u * t->a[1][0]) / det;
}

/* A mixture's first component is affine in the noise: its chart is the noise itself. Otherwise mean and
 * sd of the draws. */
static chart make_chart(const hs_proposal *p, bool density, const double *x, const double *draws)
{
    chart t = { .dim = hs_proposal_dim(p) };
    if (density) {
        for (size_t i = 0; i < t.dim; i++) {
            double sum = 0, square = 0;
            for (size_t r = 0; r < DRAWS; r++) {
                sum += draws[r * t.dim + i];
                square += draws[r * t.dim + i] * draws[r * t.dim + i];
            }
            t.b[i] = sum / DRAWS;
            t.a[i][i] = sqrt(square / DRAWS - t.b[i] * t.b[i]);
        }
    } else {
        const double n[6] = { 0, 0, 1, 0, 0, 1 }, line[2] = { 0, 1 };
        moved m = run_moves(p, false, x, 1, t.dim == 1 ? line : n, t.dim + 1);
        for (size_t i = 0; i < t.dim; i++) {
            t.b[i] = m.y[0][i];
            for (size_t j = 0; j < t.dim; j++)
                t.a[i][j] = m.y[0][(j + 1) * t.dim + i] - t.b[i];
        }
        forget(&m);
    }
    t.volume = fabs(t.dim == 1 ? t.a[0][0] : t.a[0][0] * t.a[1][1] - t.a[0][1] * t.a[1][0]);
    for (size_t r = 0; r < DRAWS; r++) {
        double c[2] = { 0, 0 };
        into_chart(&t, draws + r * t.dim, c);
        t.reach = fmax(t.reach, fmax(fabs(c[0]), fabs(c[1])));
    }
    t.reach = 1.6 * t.reach + 1;
    return t;
}

/* DRAWS points of the proposal, the way of moving chosen by weight. */
static double *draw_points(const hs_proposal *p, const double *x)
{
    const size_t dim = hs_proposal_dim(p), normals = hs_proposal_normals(p);
    double *n = noise_rows(DRAWS, normals, 11), *draws = malloc(DRAWS * dim * sizeof *draws);
    moved m = run_moves(p, false, x, 1, n, DRAWS);
    for (size_t r = 0; r < DRAWS; r++) {
        double u = hs_random_at(HS_F64, HS_UNIFORM,
                                (hs_address){ .seed = 12, .stream = 4, .step = 0 }, (uint32_t)r, 0);
        size_t k = 0;
        while (k + 1 < m.ways && u >= m.weight[k][r])
            u -= m.weight[k++][r];
        memcpy(draws + r * dim, m.y[k] + r * dim, dim * sizeof *draws);
    }
    forget(&m);
    free(n);
    return draws;
}

/* Density in the chart at the nodes of a grid over [-reach, reach]^dim. */
static double *grid_density(const hs_proposal *p, bool density, const double *x, const chart *t,
                            size_t side)
{
    const size_t nodes = t->dim == 1 ? side + 1 : (side + 1) * (side + 1);
    const double h = 2 * t->reach / (double)side;
    double *at = malloc(nodes * t->dim * sizeof *at);
    for (size_t k = 0; k < nodes; k++) {
        double c[2] = { (double)(k % (side + 1)) * h - t->reach,
                        (double)(k / (side + 1)) * h - t->reach };
        for (size_t i = 0; i < t->dim; i++) {
            double y = t->b[i];
            for (size_t j = 0; j < t->dim; j++)
                y += t->a[i][j] * c[j];
            at[k * t->dim + i] = density ? y : c[i];
        }
    }
    double *g = densities(p, density, x, at, nodes);
    for (size_t k = 0; k < nodes; k++)
        g[k] = exp(g[k]) * t->volume;
    free(at);
    return g;
}

/* ---- One dimension: the integral, and the distribution function against the draws ------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_line(const mt_entry *e, const hs_proposal *p, const double *x)
{
    double *draws = draw_points(p, x);
    const chart t = make_chart(p, e->density, x, draws);
    double *g = grid_density(p, e->density, x, &t, LINE), *below = calloc(LINE + 1, sizeof *below);
    const double h = 2 * t.reach / LINE;
    for (size_t k = 1; k <= LINE; k++)
        below[k] = below[k - 1] + h * (g[k] + g[k - 1]) / 2;
    ck_assert_msg(fabs(below[LINE] - 1) < 1e-6, "%s at %g: integral %.12g", e->name, x[0],
                  below[LINE]);
    for (size_t r = 0; r < DRAWS; r++)
        into_chart(&t, &draws[r], &draws[r]);
    qsort(draws, DRAWS, sizeof *draws, ascending);
    double distance = 0;
    for (size_t r = 0; r < DRAWS; r++) {
        const double place = (draws[r] + t.reach) / h;
        const size_t k = (size_t)place;
        const double f = below[k] + (place - (double)k) * (below[k + 1] - below[k]);
        distance = fmax(distance, fabs(f - ((double)r + 0.5) / DRAWS));
    }
    /* Kolmogorov: more than 2.4 has probability 2e-5. */
    ck_assert_msg(distance * sqrt(DRAWS) < 2.4, "%s at %g: Kolmogorov distance %g", e->name, x[0],
                  distance * sqrt(DRAWS));
    free(draws);
    free(g);
    free(below);
}

/* ---- Two dimensions: the integral, and counts in cells ---------------------------------------- */

static void check_plane(const mt_entry *e, const hs_proposal *p, const double *x)
{
    double *draws = draw_points(p, x);
    const chart t = make_chart(p, e->density, x, draws);
    double *g = grid_density(p, e->density, x, &t, SIDE);
    double mass[CELLS][CELLS] = { 0 }, count[CELLS][CELLS] = { 0 }, total = 0;
    const double h = 2 * t.reach / SIDE;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            const double *corner = g + i * (SIDE + 1) + j;
            const double part =
                h * h / 4 * (corner[0] + corner[1] + corner[SIDE + 1] + corner[SIDE + 2]);
            mass[i * CELLS / SIDE][j * CELLS / SIDE] += part;
            total += part;
        }
    ck_assert_msg(fabs(total - 1) < 2e-4, "%s at (%g, %g): integral %.10g", e->name, x[0], x[1],
                  total);
    for (size_t r = 0; r < DRAWS; r++) {
        double c[2];
        into_chart(&t, draws + 2 * r, c);
        const size_t j = (size_t)((c[0] + t.reach) / (2 * t.reach) * CELLS);
        const size_t i = (size_t)((c[1] + t.reach) / (2 * t.reach) * CELLS);
        count[i][j]++;
    }
    double chi = 0, freedom = -1, rest_mass = 0, rest_count = 0;
    for (size_t k = 0; k < CELLS * CELLS; k++) {
        const double expected = DRAWS * mass[k / CELLS][k % CELLS];
        const double found = count[k / CELLS][k % CELLS];
        if (expected < 10) {
            rest_mass += expected;
            rest_count += found;
            continue;
        }
        chi += (found - expected) * (found - expected) / expected;
        freedom++;
    }
    if (rest_mass > 0) {
        chi += (rest_count - rest_mass) * (rest_count - rest_mass) / fmax(rest_mass, 1);
        freedom++;
    }
    ck_assert_msg(freedom > 5 && (chi - freedom) / sqrt(2 * freedom) < 5,
                  "%s at (%g, %g): chi^2 %g with %g degrees of freedom", e->name, x[0], x[1], chi,
                  freedom);
    free(draws);
    free(g);
}

START_TEST(densities_integrate_to_one_and_belong_to_the_draws)
{
    const mt_entry *e = &mt_catalogue[_i];
    if (!e->quadrature)
        return;
    const double line[3] = { -1.7, 0.2, 2.5 }, plane[2][2] = { { 0.4, -1.1 }, { -2, 1.5 } };
    hs_session *s = mt_session(3);
    if (e->least <= 1) {
        const hs_proposal *p = e->make(s, mt_target_modes(s, 1));
        ck_session_ok(s);
        for (size_t i = 0; i < 3; i++)
            check_line(e, p, &line[i]);
    }
    const hs_proposal *p = e->make(s, mt_target_modes(s, 2));
    ck_session_ok(s);
    for (size_t i = 0; i < 2; i++)
        check_plane(e, p, plane[i]);
    hs_session_free(s);
}
END_TEST

/* ---- Both ways of scoring, the reverse, weights ------------------------------------------------ */

/* log g(x | y) of a mixture from y itself, with the noise that leads from y to x. */
static double worst_mixture_reverse(const hs_proposal *p, const double *x, const moved *m)
{
    const chart t = make_chart(p, false, x, m->y[0]);
    double worst = 0;
    for (size_t k = 0; k < m->ways; k++) {
        double *n = malloc(m->rows * t.dim * sizeof *n);
        for (size_t r = 0; r < m->rows; r++)
            into_chart(&t, x, n + r * t.dim);
        moved back = run_moves(p, false, m->y[k], m->rows, n, 1);
        for (size_t r = 0; r < m->rows; r++)
            worst = fmax(worst, fabs(back.fwd[0][r] - m->rev[k][r]) / (1 + fabs(m->rev[k][r])));
        forget(&back);
        free(n);
    }
    return worst;
}

START_TEST(scores_agree_and_weights_add_up)
{
    const mt_entry *e = &mt_catalogue[_i / MAX_DIM];
    const size_t dim = 1 + (size_t)_i % MAX_DIM, rows = DRAWS;
    if (dim < e->least)
        return;
    hs_session *s = mt_session(4);
    const hs_proposal *p = e->make(s, mt_target_modes(s, dim));
    ck_session_ok(s);
    const double x[2][MAX_DIM] = { { 0.3, -0.8, 1.2 }, { -2.2, 1, 0.4 } };
    double *n = noise_rows(rows, hs_proposal_normals(p), 21);
    for (int i = 0; i < 2; i++) {
        moved m = run_moves(p, e->density, x[i], 1, n, rows);
        double worst = 0, least = 1, sum_error = 0, reverse = 0;
        for (size_t r = 0; r < rows; r++) {
            double sum = 0;
            for (size_t k = 0; k < m.ways; k++) {
                sum += m.weight[k][r];
                least = fmin(least, m.weight[k][r]);
            }
            sum_error = fmax(sum_error, fabs(sum - 1));
            if (e->density) {
                worst = fmax(worst, fabs(m.fwd[0][r] - m.direct[r]) / (1 + fabs(m.direct[r])));
                reverse =
                    fmax(reverse, fabs(m.rev[0][r] - m.reverse[r]) / (1 + fabs(m.reverse[r])));
            }
        }
        ck_assert_msg(worst < 1e-9, "%s, %zu-D: scores differ by %g", e->name, dim, worst);
        ck_assert_msg(reverse < 1e-9, "%s, %zu-D: reverse differs by %g", e->name, dim, reverse);
        ck_assert_msg(sum_error < 1e-12 && least > 0, "%s: weights %g %g", e->name, sum_error,
                      least);
        if (e->quadrature && !e->density && dim < 3)
            reverse = worst_mixture_reverse(p, x[i], &m);
        ck_assert_msg(reverse < 1e-9, "%s, %zu-D: reverse differs by %g", e->name, dim, reverse);
        forget(&m);
    }
    free(n);
    hs_session_free(s);
}
END_TEST

START_TEST(a_kernel_mixture_has_the_moves_of_its_parts)
{
    hs_session *s = mt_session(6);
    const hs_target *t = mt_target_modes(s, 2);
    const hs_proposal *a = mk_mixture(s, t), *b = mk_networks_flow(s, t);
    const hs_proposal *both = hs_kernel_mixture(s, a, b, 0.3);
    ck_session_ok(s);
    ck_assert_uint_eq(hs_proposal_ways(both), 4);
    ck_assert_ptr_eq(hs_proposal_params(both), hs_proposal_params(a));
    const double x[2] = { 0.5, -1 };
    double *n = noise_rows(100, 2, 5);
    moved ma = run_moves(a, false, x, 1, n, 100), mb = run_moves(b, false, x, 1, n, 100);
    moved m = run_moves(both, false, x, 1, n, 100);
    for (size_t k = 0; k < 4; k++) {
        const moved *part = k < 3 ? &ma : &mb;
        const size_t j = k < 3 ? k : 0;
        for (size_t r = 0; r < 100; r++) {
            ck_assert_close(m.y[k][2 * r + 1], part->y[j][2 * r + 1], 1e-14, 1e-14);
            ck_assert_close(m.fwd[k][r], part->fwd[j][r], 1e-13, 1e-13);
            ck_assert_close(m.rev[k][r], part->rev[j][r], 1e-13, 1e-13);
            ck_assert_close(m.weight[k][r], (k < 3 ? 0.3 : 0.7) * part->weight[j][r], 1e-14, 0);
        }
    }
    forget(&m);
    forget(&ma);
    forget(&mb);
    free(n);
    hs_session_free(s);
}
END_TEST

static Suite *proposals_suite(void)
{
    Suite *suite = suite_create("mcmc proposals");
    TCase *tcase = tcase_create("densities");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, densities_integrate_to_one_and_belong_to_the_draws, 0, MT_ENTRIES);
    tcase_add_loop_test(tcase, scores_agree_and_weights_add_up, 0, MT_ENTRIES * MAX_DIM);
    tcase_add_test(tcase, a_kernel_mixture_has_the_moves_of_its_parts);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(proposals_suite())
