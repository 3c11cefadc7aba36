#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings.h>

#include "cases.h"
#include "contenders.h"
#include "machine.h"
#include "measure.h"
#include "parts.h"

#include <hastings/tensor/file.h>

/* ---- Settings ------------------------------------------------------------------------------- */

static const char *part_name(size_t i)
{
    static const char *const names[] = { "checks", "steps", "sampling", "first", "scaling" };
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *case_name(size_t i)
{
    const bench_case *c = bench_case_at(i);
    return c ? c->name : NULL;
}

static const char *type_name(size_t i)
{
    return i < 2 ? hs_dtype_name(i ? HS_F64 : HS_F32) : NULL;
}

static const char *peer_or_none(size_t i)
{
    return i < PEERS ? peer_names[i] : i == PEERS ? "none" : NULL;
}

/* The options, and the words that each of them knows. */
static const struct {
    const char *option;
    const char *(*word)(size_t i); /* NULL after the last */
} restrictions[RESTRICTIONS] = {
    [PARTS] = { "--parts", part_name },
    [CASES] = { "--cases", case_name },
    [OBJECTIVES] = { "--objectives", bench_objective_name },
    [TYPES] = { "--types", type_name },
    [KINDS] = { "--kinds", sampling_kind },
    [CHAINS] = { "--chains", sampling_chains },
    [PEER_NAMES] = { "--peers", peer_or_none },
    [PEER_OBJECTIVES] = { "--peer-objectives", bench_objective_name },
    [PEER_TYPES] = { "--peer-types", type_name },
};

void run_print_restrictions(FILE *out)
{
    for (int k = 0; k < RESTRICTIONS; k++) {
        fprintf(out, "  %-17s", restrictions[k].option);
        for (size_t i = 0; restrictions[k].word(i); i++)
            fprintf(out, " %s", restrictions[k].word(i));
        fprintf(out, "\n");
    }
}

/* Whether a word is that of so many characters at a place. */
static bool is_at(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

bool wants(const settings *set, restriction which, const char *word)
{
    const char *at = set->only[which];
    if (!at)
        return true;
    for (;; at++) {
        const size_t length = strcspn(at, ",");
        if (is_at(at, length, word))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

/* Whether an option knows all words of a list; a message about the first that it does not. */
static bool knows(restriction which, const char *at)
{
    for (;; at++) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;
        const char *word;
        while ((word = restrictions[which].word(i)) && !is_at(at, length, word))
            i++;
        if (!word) {
            fprintf(stderr, "%s: there is no \"%.*s\"\n", restrictions[which].option, (int)length,
                    at);
            return false;
        }
        at += length;
        if (!*at)
            return true;
    }
}

bool run_read_options(settings *set, int argc, char **argv)
{
    *set = (settings){ .seconds = 0.3,
                       .rounds = 5,
                       .only = { [PEER_TYPES] = "f32" },
                       .threads = { 1, hs_threads_default() },
                       .self = argv[0],
                       .folder = "/tmp/hastings_bench_XXXXXX" };
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool known = false;
        for (int k = 0; k < RESTRICTIONS && value; k++)
            if (strcmp(name, restrictions[k].option) == 0) {
                if (!knows((restriction)k, value))
                    return false;
                set->only[k] = value;
                known = true;
            }
        if (value && strcmp(name, "--json") == 0)
            set->json = value, known = true;
        if (value && strcmp(name, "--seconds") == 0)
            set->seconds = strtod(value, NULL), known = true;
        if (value && strcmp(name, "--rounds") == 0)
            set->rounds = (int)strtol(value, NULL, 10), known = true;
        if (!known)
            return false;
    }
    return set->seconds > 0 && set->rounds >= 1 && set->rounds <= MAX_ROUNDS;
}

const char *threads_key(const settings *set, int way)
{
    static char text[WAYS][16];
    snprintf(text[way], sizeof text[way], "%d", set->threads[way]);
    return text[way];
}

/* ---- The result ----------------------------------------------------------------------------- */

/* A result without rows. */
static json_t *new_result(const settings *set)
{
    return json_pack("{s:s, s:s, s:i, s:{}}", "processor", set->processor, "isa",
                     hs_isa_name(hs_cpu_isa()), "threads", set->threads[1], "peers");
}

/* A file that does not say its processor is of a run before that was noted; its rows may be of any. */
static json_t *without_rows_of_others(const settings *set, json_t *result)
{
    const char *processor = json_string_value(json_object_get(result, "processor"));
    if (processor && strcmp(processor, set->processor) == 0)
        return result;
    if (!processor) {
        fprintf(stderr,
                "%s: does not say of which processor its rows are; they stay. If it is this one, "
                "put \"processor\": \"%s\" into it\n",
                set->json, set->processor);
        return result;
    }
    fprintf(stderr, "%s: its rows are of %s, and this is %s: they are dropped\n", set->json,
            processor, set->processor);
    json_decref(result);
    return new_result(set);
}

bool run_load(settings *set)
{
    json_t *result = set->json ? json_load_file(set->json, 0, NULL) : NULL;
    machine_processor(set->processor, sizeof set->processor);
    set->result = result = result ? without_rows_of_others(set, result) : new_result(set);
    json_object_del(result, "rounds"); /* files had those of the last run, not those of each row */
    for (size_t i = 0; part_name(i); i++)
        if (!json_object_get(result, part_name(i)))
            json_object_set_new(result, part_name(i), json_array());
    const char *isa = json_string_value(json_object_get(result, "isa"));
    const json_int_t threads = json_integer_value(json_object_get(result, "threads"));
    if (isa && strcmp(isa, hs_isa_name(hs_cpu_isa())) == 0 && threads == set->threads[1])
        return true;
    fprintf(
        stderr,
        "%s: has figures of %s with %d threads, and this run is %s with %d: name another file\n",
        set->json, isa ? isa : "an unknown machine", (int)threads, hs_isa_name(hs_cpu_isa()),
        set->threads[1]);
    return false;
}

bool run_save(const settings *set)
{
    char *text = json_dumps(set->result, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    hs_message message = { "out of memory for the results" };
    bool ok = text && set->json ? hs_file_save(set->json, text, strlen(text), &message) == HS_OK
                                : text && fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    if (!ok)
        fprintf(stderr, "%s\n", text && !set->json ? strerror(errno) : message.text);
    free(text);
    return ok;
}

/* Whether two rows agree in what a row is of. */
static bool is_of_same(const json_t *a, const json_t *b)
{
    static const char *const keys[] = { "case",   "objective", "type", "kind",
                                        "chains", "what",      "size" };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *x = json_object_get(a, keys[k]), *y = json_object_get(b, keys[k]);
        if ((x || y) && !json_equal(x, y))
            return false;
    }
    return true;
}

void run_put(const settings *set, const char *part, json_t *row)
{
    json_t *list = json_object_get(set->result, part);
    size_t at = 0;
    while (at < json_array_size(list) && !is_of_same(json_array_get(list, at), row))
        at++;
    if (at < json_array_size(list))
        json_array_set_new(list, at, row);
    else
        json_array_append_new(list, row);
    if (set->json)
        run_save(set);
}

void set_rounds(json_t *row, int rounds, double seconds)
{
    json_object_set_new(row, "rounds", json_integer(rounds));
    if (seconds > 0)
        json_object_set_new(row, "round_seconds", json_real(seconds));
}

json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *median_of(double *samples, int n)
{
    return number(median(samples, (size_t)n));
}

void set_median(json_t *object, const settings *set, const char *who, int way, double *samples)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s%s", who, *who ? " " : "", threads_key(set, way));
    json_object_set_new(object, key, median_of(samples, set->rounds));
}
