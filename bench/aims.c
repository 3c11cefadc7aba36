#include "aims.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "measure.h"
#include "rows.h"

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

/* The cells of a line's case and aim. */
static void write_goal(app_buffer *page, const char *name, double wanted, const char *of)
{
    char text[APP_NUMBER_TEXT];
    app_buffer_cell(page, "%s", name);
    app_buffer_cell(page, "%s%s", app_number_text(wanted, "", text), of);
}

/* A figure, bold if the aim is met. */
static void reached(app_buffer *page, double figure, bool met, const char *unit)
{
    char text[APP_NUMBER_TEXT];
    app_buffer_cell(page, met && isfinite(figure) ? "**%s**" : "%s",
                    app_number_text(figure, unit, text));
}

/* The cells at the limit, which end a line. */
static void write_limits(app_buffer *page, double one, double several, const char *unit)
{
    app_buffer_number(page, one, unit);
    app_buffer_number(page, several, unit);
    app_buffer_line(page);
}

static void write_aim(app_buffer *page, const json_t *list, const json_t *row, const aim *a,
                      int all)
{
    static const char *const who[] = { "torch", "jax" };
    static const char *const of[] = { " times PyTorch", " times JAX", "% of the limit" };
    const double wanted[] = { a->torch, a->jax, 100 * a->share };
    char name[200];
    snprintf(name, sizeof name, "%s%s%s", text_of(row, "title"), a->kind ? ", 100 chains, " : "",
             a->kind ? a->kind : "");
    for (int line = 0; line < 3; line++) {
        if (wanted[line] == 0)
            continue;
        const char *unit = line < 2 ? "" : "%";
        double limit[2];
        write_goal(page, name, wanted[line], of[line]);
        for (int way = 0; way < 2; way++) {
            const int threads = way ? all : 1;
            const double share = a->kind ? share_of_sampling(list, row, threads)
                                         : share_of_steps(list, row, threads);
            double figure = 100 * share;
            if (line < 2)
                figure = time_of(row, who[line], threads) / time_of(row, "hastings", threads);
            limit[way] = line < 2 ? figure / share : 100;
            reached(page, figure, figure >= wanted[line], unit);
        }
        write_limits(page, limit[0], limit[1], unit);
    }
}

/* Nanoseconds of a whole step for each of its normals, in the random walk that has the most to do with them. */
static void write_normals(app_buffer *page, const json_t *steps, int all)
{
    size_t i;
    json_t *row;
    json_array_foreach(steps, i, row)
    {
        if (!is_of(row, &(aim){ .name = "rwm1000" }))
            continue;
        write_goal(page, text_of(row, "title"), most_ns_of_normal,
                   " ns a normal, the rest of the step included");
        for (int threads = 1; threads <= all; threads += all - 1) {
            const double ns =
                1e9 * seconds_of(row, "hastings", threads) / number_of(row, NULL, "normals");
            reached(page, ns, ns <= most_ns_of_normal, "");
        }
        write_limits(page, (double)NAN, (double)NAN, "");
    }
}

/* The slowest of all cases but MNIST, whose parameters take long to draw. */
static void write_slowest_first(app_buffer *page, const json_t *first)
{
    double slowest = (double)NAN;
    size_t i;
    json_t *row;
    json_array_foreach(first, i, row) if (strcmp(text_of(row, "case"), "mnist") != 0) slowest =
        fmax(slowest, number_of(row, "seconds", "hastings"));
    write_goal(page, "all but MNIST, the slowest", most_seconds_to_first,
               " s from start to first step");
    app_buffer_cell(page, "-");
    reached(page, slowest, slowest <= most_seconds_to_first, "");
    write_limits(page, (double)NAN, (double)NAN, "");
}

/* What all threads are worth where there are shards for them: in the middle of all rows, and in the worst. */
static void write_threads(app_buffer *page, const json_t *steps, int all)
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
        write_goal(page, k ? "all of several shards, the worst" : "all of several shards, median",
                   least_of_two_threads, " times one thread");
        app_buffer_cell(page, "-");
        reached(page, figures[k], figures[k] >= least_of_two_threads, "");
        write_limits(page, (double)NAN, all, "");
    }
}

/* What is left of their speed with more threads than there are cores, in the case where it is least. */
static void write_many_threads(app_buffer *page, const json_t *scaling, int all)
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
    char text[APP_NUMBER_TEXT];
    app_buffer_cell(page, "cross, Heart, the worst");
    app_buffer_cell(page, "more threads than cores: %s times the speed of %d",
                    app_number_text(least_of_many_threads, "", text), all);
    app_buffer_cell(page, "-");
    reached(page, least, least >= least_of_many_threads, "");
    write_limits(page, (double)NAN, 1, "");
}

void write_aims(app_buffer *page, const json_t *file, int all)
{
    const json_t *steps = json_object_get(file, "steps"),
                 *sampling = json_object_get(file, "sampling");
    if (all < 2)
        return;
    app_buffer_put(
        page, "\n## Aims\n\n"
              "Ab Initio, f32; what is reached is bold. *At the limit* is what it would be if we "
              "took all of the machine's limit and the peer stayed as it is: where that is less "
              "than the aim, no program with as many multiply-adds can reach it on this machine. "
              "Walks and MALA have no products to count.\n\n");
    char several[32];
    snprintf(several, sizeof several, "%d threads", all);
    app_buffer_headings(page, (const char *[]){ "case", "aim", "1 thread", several,
                                                "at the limit, 1 thread", several, NULL });
    for (size_t a = 0; a < sizeof aims / sizeof *aims; a++) {
        const json_t *list = aims[a].kind ? sampling : steps;
        size_t i;
        json_t *row;
        json_array_foreach(list, i, row) if (is_of(row, &aims[a]))
            write_aim(page, list, row, &aims[a], all);
    }
    write_normals(page, steps, all);
    write_slowest_first(page, json_object_get(file, "first"));
    write_threads(page, steps, all);
    write_many_threads(page, json_object_get(file, "scaling"), all);
}
