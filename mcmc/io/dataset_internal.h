/* What the readers of data sets share. */
#ifndef HASTINGS_MCMC_IO_DATASET_INTERNAL_H
#define HASTINGS_MCMC_IO_DATASET_INTERNAL_H

#include <zlib.h>

#include <hastings/mcmc/io/dataset.h>
#include <hastings/tensor/message.h>

/* The options with their defaults filled in. */
hs_dataset_options hs__dataset_options(const hs_dataset_options *options);

/* A data set with room for the rows, its ones in place if there is an intercept, its names empty
 * except the intercept's. `what` (a path) begins the message. */
hs_status hs__dataset_new(hs_dataset **data, size_t rows, size_t features,
                          const hs_dataset_options *options, const char *what, hs_message *message);

/* Row r of x without the intercept. */
double *hs__dataset_row(const hs_dataset *data, size_t row);

/* Counts the labels; HS_EINVAL if there is one class only. */
hs_status hs__dataset_count_labels(hs_dataset *data, const char *what, hs_message *message);

/* A file that is read by zlib, which inflates gzipped ones and hands others on as they are. */
typedef struct {
    const char *path;
    hs_message *message;
    gzFile file;
} input;

#define INPUT_FAIL(s, status, ...) hs_message_fail((s)->message, status, "%.300s: " __VA_ARGS__)

/* hs__input_close() comes after hs__input_open(), also if that failed. */
hs_status hs__input_open(input *s, const char *path, hs_message *message);
void hs__input_close(input *s);

/* Takes up to n bytes; fewer only at the end, where the checksum of a gzipped file is checked. */
hs_status hs__input_take(input *s, void *bytes, size_t n, size_t *taken);

/* Takes up to n bytes into a block that grows with what is there, however large n is; fewer only at the end. The
 * caller frees the block, also after a failure. */
hs_status hs__input_take_all(input *s, size_t n, unsigned char **bytes, size_t *taken);

/* A whole text in memory, ended by '\0'. HS_EFORMAT if it is no text; HS_EOVERFLOW if it is longer than `most` or a
 * quarter of the memory that is left, or has an endless line. */
hs_status hs__text_read(const char *path, size_t most, char **bytes, size_t *length,
                        hs_message *message);

#endif
