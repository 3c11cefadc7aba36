/* Data sets for logistic regression as CSV files, plain or gzipped. */
#include "fuzz.h"

#include <math.h>

#include <hastings/mcmc/io/dataset.h>

/* Names may hold anything but a line's end; the written file has others, so that it needs no quotes. */
static const char *write_csv(const hs_dataset *d)
{
    const char *path = fuzz_path("again.csv");
    FILE *f = fopen(path, "w");
    fuzz_check(f);
    for (size_t i = 0; i < d->columns; i++)
        fprintf(f, "x%zu,", i);
    fprintf(f, "y\n");
    for (size_t r = 0; r < d->rows; r++) {
        for (size_t i = 0; i < d->columns; i++)
            fprintf(f, "%.17g,", d->x[r * d->columns + i]);
        fprintf(f, "%g\n", d->y[r]);
    }
    fuzz_check(fclose(f) == 0);
    return path;
}

static void write_and_load(const hs_dataset *d)
{
    hs_dataset *again;
    hs_message message;
    const hs_dataset_options raw = { .raw = true, .no_intercept = true };
    fuzz_check(hs_dataset_load_csv(&again, write_csv(d), &raw, &message) == HS_OK);
    fuzz_check(again->rows == d->rows && again->columns == d->columns && again->ones == d->ones);
    fuzz_check(fuzz_same_numbers(again->x, d->x, d->rows * d->columns));
    fuzz_check(fuzz_same_numbers(again->y, d->y, d->rows));
    hs_dataset_free(again);
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    static const hs_dataset_options ways[] = {
        { .raw = true, .no_intercept = true },
        { .allow_constant = true, .label_column = 1 },
        { .label = "label", .max_rows = 8, .max_features = 4, .max_bytes = 1000 },
    };
    const char *path = fuzz_write("data.csv", data, size);
    bool accepted = false;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        hs_dataset *d;
        hs_message message;
        if (hs_dataset_load_csv(&d, path, &ways[way], &message) != HS_OK) {
            fuzz_check(!d && !fuzz_refused(message.text));
            continue;
        }
        accepted = true;
        for (size_t i = 0; i < d->rows * d->columns; i++)
            fuzz_check(isfinite(d->x[i]));
        if (ways[way].no_intercept)
            write_and_load(d);
        hs_dataset_free(d);
    }
    return accepted;
}
