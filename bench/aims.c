#include "aims.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "limits.h"
#include "measure.h"
#include "rows.h"
#include "tables.h"

/* Of a case with Ab Initio in f32 or, if there is a kernel, of 100 chains of it on the case's posterior. */
typedef struct {
    const char *name, *kind;
    double torch, jax, share; /* 0: none */
} aim;

static const aim aims[] = {
    { "cross8", NULL, 25, 5, 0.3 },         { "cross3", NULL, 25, 5, 0.3 },
    { "german", NULL, 2.2, 1.5, 0.6 },      { "heart", NULL, 2.2, 1.5, 0.6 },
    { "rwm1000", NULL, 6, 0, 0 },           { "mala1000", NULL, 6, 0, 0 },
    { "mixture", NULL, 40, 0, 0 },          { "mnist", NULL, 4, 0, 0.7 },
    { "german", "random-walk", 3, 0, 0.5 }, { "german", "mala", 3, 0, 0.5 },
    { "german", "hmc", 3, 0, 0.5 },
};
static const double most_ns_of_normal = 2, most_seconds_to_first = 0.05, least_of_two_threads = 1.8,
                    least_of_many_threads = 0.7;

static bool is_of(const json_t *row, const aim *a)
{
    if (strcmp(text_of(row, "case"), a->name) != 0)
        return false;
    return a->kind
               ? strcmp(text_of(row, "kind"), a->kind) == 0 && number_of(row, NULL, "chains") == 100
               : strcmp(text_of(row, "objective"), "ab-initio") == 0 &&
                     strcmp(text_of(row, "type"), "f32") == 0;
}

/* A figure, bold if it is what was aimed at. */
static void reached(FILE *out, double figure, bool met, const char *unit)
{
    if (isfinite(figure))
        fprintf(out, met ? " **%.3g%s** |" : " %.3g%s |", figure, unit);
    else
        fprintf(out, " - |");
}

static void write_ratio(FILE *out, const json_t *list, const json_t *row, const aim *a, int which,
                        int all)
{
    static const char *const who[] = { "torch", "jax" }, *const names[] = { "PyTorch", "JAX" };
    const double wanted = which ? a->jax : a->torch;
    double times[2], share[2];
    for (int way = 0; way < 2; way++) {
        const int threads = way ? all : 1;
        times[way] = time_of(row, who[which], threads) / time_of(row, "hastings", threads);
        share[way] =
            a->kind ? share_of_sampling(list, row, threads) : share_of_steps(list, row, threads);
    }
    fprintf(out, " %g times %s |", wanted, names[which]);
    for (int way = 0; way < 2; way++)
        reached(out, times[way], times[way] >= wanted, "");
    for (int way = 0; way < 2; way++)
        cell(out, times[way] / share[way], "");
    fprintf(out, "\n");
}

static void write_aim(FILE *out, const json_t *list, const json_t *row, const aim *a, int all)
{
    for (int line = 0; line < 3; line++) {
        if ((line == 0 ? a->torch : line == 1 ? a->jax : a->share) == 0)
            continue;
        fprintf(out, "| %s%s%s |", text_of(row, "title"), a->kind ? ", 100 chains, " : "",
                a->kind ? a->kind : "");
        if (line < 2) {
            write_ratio(out, list, row, a, line, all);
            continue;
        }
        fprintf(out, " %g%% of the limit |", 100 * a->share);
        for (int threads = 1; threads <= all; threads += all - 1) {
            const double share = a->kind ? share_of_sampling(list, row, threads)
                                         : share_of_steps(list, row, threads);
            reached(out, 100 * share, share >= a->share, "%");
        }
        fprintf(out, " 100%% | 100%% |\n");
    }
}

/* Nanoseconds of a whole step for each of its normals, in the random walk that has the most to do with them. */
static void write_normals(FILE *out, const json_t *steps, int all)
{
    size_t i;
    json_t *row;
    json_array_foreach(steps, i, row)
    {
        if (!is_of(row, &(aim){ .name = "rwm1000" }))
            continue;
        fprintf(out, "| %s | %g ns a normal, the rest of the step included |",
                text_of(row, "title"), most_ns_of_normal);
        for (int threads = 1; threads <= all; threads += all - 1) {
            const double ns =
                1e9 * seconds_of(row, "hastings", threads) / number_of(row, NULL, "normals");
            reached(out, ns, ns <= most_ns_of_normal, "");
        }
        fprintf(out, " - | - |\n");
    }
}

/* The slowest of all cases but MNIST, whose parameters take long to draw. */
static void write_slowest_first(FILE *out, const json_t *first)
{
    double slowest = (double)NAN;
    size_t i;
    json_t *row;
    json_array_foreach(first, i, row) if (strcmp(text_of(row, "case"), "mnist") != 0) slowest =
        fmax(slowest, number_of(row, "seconds", "hastings"));
    fprintf(out, "| all but MNIST, the slowest | %g s from start to first step | - |",
            most_seconds_to_first);
    reached(out, slowest, slowest <= most_seconds_to_first, "");
    fprintf(out, " - | - |\n");
}

/* What all threads are worth where there are shards for them: in the middle of all rows, and in the worst. */
static void write_threads(FILE *out, const json_t *steps, int all)
{
    enum { MOST = 1000 };
    static double times[MOST];
    size_t i, n = 0;
    json_t *row;
    json_array_foreach(steps, i, row)
    {
        const double of_row = seconds_of(row, "hastings", 1) / seconds_of(row, "hastings", all);
        if (n < MOST && number_of(row, NULL, "shards") > 1 && isfinite(of_row))
            times[n++] = of_row;
    }
    const double middle = n ? median(times, n) : (double)NAN; /* sorts them */
    const double figures[2] = { middle, n ? times[0] : (double)NAN };
    for (int k = 0; k < 2; k++) {
        fprintf(out, "| all of several shards, %s | %g times one thread | - |",
                k ? "the worst" : "median", least_of_two_threads);
        reached(out, figures[k], figures[k] >= least_of_two_threads, "");
        fprintf(out, " - | %d |\n", all);
    }
}

/* What is left of their speed with more threads than there are cores, in the case where it is least. */
static void write_many_threads(FILE *out, const json_t *scaling, int all)
{
    double least = (double)NAN;
    size_t i, k;
    json_t *row, *other;
    json_array_foreach(scaling, i, row) json_array_foreach(scaling, k, other)
    {
        if (strcmp(text_of(row, "what"), "threads") == 0 &&
            strcmp(text_of(other, "what"), "threads") == 0 &&
            strcmp(text_of(row, "case"), text_of(other, "case")) == 0 &&
            number_of(row, NULL, "size") == all && number_of(other, NULL, "size") > all)
            least =
                fmin(least, number_of(row, NULL, "seconds") / number_of(other, NULL, "seconds"));
    }
    fprintf(out,
            "| cross, Heart, the worst | more threads than cores: %g times the speed of %d | - |",
            least_of_many_threads, all);
    reached(out, least, least >= least_of_many_threads, "");
    fprintf(out, " - | 1 |\n");
}

void write_aims(FILE *out, const json_t *file, int all)
{
    const json_t *steps = json_object_get(file, "steps"),
                 *sampling = json_object_get(file, "sampling");
    if (all < 2)
        return;
    fprintf(
        out,
        "\n## Aims\n\n"
        "Ab Initio, f32; what is reached is bold. *At the limit* is what it would be if we took "
        "all of the machine's limit and the peer stayed as it is: where that is less than the "
        "aim, no program with as many multiply-adds can reach it on this machine. Walks and MALA "
        "have no products to "
        "count.\n\n"
        "| case | aim | 1 thread | %d threads | at the limit, 1 thread | %d threads "
        "|\n|---|---|---|---|---|---|\n",
        all, all);
    for (size_t a = 0; a < sizeof aims / sizeof *aims; a++) {
        const json_t *list = aims[a].kind ? sampling : steps;
        size_t i;
        json_t *row;
        json_array_foreach(list, i, row) if (is_of(row, &aims[a]))
            write_aim(out, list, row, &aims[a], all);
    }
    write_normals(out, steps, all);
    write_slowest_first(out, json_object_get(file, "first"));
    write_threads(out, steps, all);
    write_many_threads(out, json_object_get(file, "scaling"), all);
}
