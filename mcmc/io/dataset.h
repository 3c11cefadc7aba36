/**
 * Data sets for logistic regression: features, and a label that is 0 or 1.
 *
 *     hs_dataset *data;
 *     hs_message message;
 *     if (hs_dataset_load_csv(&data, "german.csv", NULL, &message)) {
 *         fprintf(stderr, "%s\n", message.text);   // german.csv, line 7, column 3 (purpose): ...
 *     } else {
 *         printf("%zu rows, %zu weights\n", data->rows, data->columns);
 *         hs_dataset_free(data);
 *     }
 *
 * By default features are standardised (mean 0, standard deviation 1, divided by the number of
 * rows) and a column of ones comes first, as the paper has it.
 *
 * A CSV file has a header line with the names of its columns, then one line a row: numbers with a
 * decimal point (whatever the locale), separated by commas. Quotes round a field, blanks beside it,
 * CRLF, a byte order mark and empty lines at the end are tolerated. Everything else is an error
 * that names the file, line and column. Files may be gzipped.
 *
 * A data set is a plain struct that belongs to the caller; functions may run on any thread.
 */
#ifndef HASTINGS_MCMC_IO_DATASET_H
#define HASTINGS_MCMC_IO_DATASET_H

#include <stdbool.h>
#include <stddef.h>

#include <hastings/nn/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/status.h>

/** A table of numbers with a label of 0 or 1 in each row. */
typedef struct {
    size_t rows;        /**< of the file; each has a label */
    size_t features;    /**< of the file */
    size_t columns;     /**< of x: features, and one more with the intercept */
    size_t ones;        /**< rows with label 1 */
    double *x;          /**< [rows][columns] */
    double *y;          /**< [rows], 0 or 1 */
    double *mean, *sd;  /**< [columns]: the file has mean + sd * x */
    const char **names; /**< [columns]; the first is "intercept" if there is one */
    const char *label;  /**< the name of the label's column */
    hs_arena text;      /**< owns the names */
} hs_dataset;

/** Zero is the default of each. */
typedef struct {
    const char *label;   /**< name of the label's column; NULL: see label_column */
    size_t label_column; /**< its number, from 1; 0: the last */
    bool raw;            /**< leave features as they are */
    bool no_intercept;   /**< no column of ones */
    bool allow_constant; /**< standardise a feature that has one value to 0, instead of failing */
    size_t max_rows;     /**< more are an error; 0: 100 million */
    size_t max_features; /**< 0: 100 000 */
    size_t max_bytes;    /**< of the file, unpacked; 0: 4 GiB; never more than a quarter of
                              the memory that is left */
    /** NULL, or asked many times a second: true ends the reading of a CSV file with HS_EINTERRUPTED */
    bool (*interrupted)(void *context);
    void *context; /**< argument of `interrupted` */
} hs_dataset_options;

/**
 * Reads a CSV file. HS_EIO if it cannot be read; HS_EFORMAT for a missing value, text, a wrong
 * number of columns, no rows, a label that is neither 0 nor 1; HS_ENONFINITE for NaN and
 * infinities; HS_EINVAL for options that do not fit the file, for one class only, and for a feature
 * with one value that was to be standardised; HS_EOVERFLOW beyond the limits; HS_ENOMEM. `*data` is
 * NULL after a failure. `options` and `message` may be NULL.
 */
HS_API hs_status hs_dataset_load_csv(hs_dataset **data, const char *path,
                                     const hs_dataset_options *options,
                                     hs_message *message) HS_MUST_CHECK;

/**
 * Reads two classes of a set of images in MNIST's IDX format, gzipped or not: y is 0 for images
 * with the label `zero` and 1 for those with the label `one`, x is pixel / 255, never standardised.
 * Of the options no_intercept and the limits count. Errors as above; HS_EFORMAT also for another
 * magic number, sizes that disagree, and files that are damaged, too short or too long.
 */
HS_API hs_status hs_dataset_load_idx(hs_dataset **data, const char *images, const char *labels,
                                     int zero, int one, const hs_dataset_options *options,
                                     hs_message *message) HS_MUST_CHECK;

/** Frees a data set; NULL is allowed. */
HS_API void hs_dataset_free(hs_dataset *data);

#endif
