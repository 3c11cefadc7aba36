/* A run of bench_steps: its settings, and the file that its rows go to. */
#ifndef HASTINGS_BENCH_RUN_H
#define HASTINGS_BENCH_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

enum { MAX_ROUNDS = 50, WAYS = 2 };

/* What a run can be restricted in, each by an option with a list of words. */
typedef enum {
    PARTS,
    CASES,
    OBJECTIVES,
    TYPES,
    KINDS,  /* of transitions */
    CHAINS, /* how many at once */
    PEER_NAMES,
    PEER_OBJECTIVES,
    PEER_TYPES,
    RESTRICTIONS
} restriction;

typedef struct {
    const char *only[RESTRICTIONS]; /* words with commas between; NULL: all */
    const char *json;
    double seconds;
    int rounds, threads[WAYS]; /* one, and all */
    char processor[128];
    const char *self; /* the program's own path */
    char folder[64];  /* for dumps */
    json_t *result;   /* of this run, and of those before that are in the file */
} settings;

/* The defaults, with argv[0] as the program's path, then options; false if one is unknown, has no value, or, after a
 * message, a word that it does not know. */
bool run_read_options(settings *set, int argc, char **argv);

/* Prints the options that restrict a run, with the words that they know. */
void run_print_restrictions(FILE *out);

/* Whether a run is to have what the word stands for. */
bool wants(const settings *set, restriction which, const char *word);

/* The number of threads of a way, as text. */
const char *threads_key(const settings *set, int way);

/* What the file has already, or nothing yet, as the result. Rows of another processor are dropped, with a message; a
 * file of another instruction set or number of threads is refused: false after a message. */
bool run_load(settings *set);

/* Writes the result to its file, or to standard output; false after a message. */
bool run_save(const settings *set);

/* Puts a row in the place of the one that was measured before, or at the end of a part, and saves what there is: a run
 * takes long, and may be stopped. */
void run_put(const settings *set, const char *part, json_t *row);

/* Notes in a row how many rounds it is the median of, and the seconds of each; 0 where they take as long as they do. */
void set_rounds(json_t *row, int rounds, double seconds);

/* A number, and the median of numbers; null, which JSON has, if it is not finite. */
json_t *number(double x);

json_t *median_of(double *samples, int n);

/* Sets the median over the rounds, of `who` ("" for the machine itself) in a way. */
void set_median(json_t *object, const settings *set, const char *who, int way, double *samples);

#endif
