/* The text of a spec, taken apart into a kind and its options. */
#ifndef HASTINGS_EXPERIMENTS_SPEC_INTERNAL_H
#define HASTINGS_EXPERIMENTS_SPEC_INTERNAL_H

#include <hastings/experiments/spec.h>

typedef struct {
    hs_session *session;
    const char *what; /* "target" or "proposal", for messages */
    const app_spec_entry *entry;
    char *text;                          /* a copy that the values point into */
    const char *value[APP_SPEC_OPTIONS]; /* NULL: not given */
} spec;

typedef const app_spec_entry *spec_list(size_t i);

/* Takes the text apart; false after failing the session. Close it in any case. */
bool app_spec_open(spec *p, hs_session *s, const char *what, spec_list *list, const char *text);
void app_spec_close(spec *p);

/* The values of options, which must be ones of the entry; the table's default if not given. */
const char *app_spec_text(const spec *p,
                          const char *option); /* NULL: neither given nor a default */
double app_spec_number(const spec *p, const char *option);
size_t app_spec_count(const spec *p, const char *option);
bool app_spec_flag(const spec *p, const char *option);

/* The place of a text option's value in a list of words that ends with NULL; -1 after failing. */
int app_spec_word(const spec *p, const char *option, const char *const *words);

#endif
