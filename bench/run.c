#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings.h>

#include "machine.h"
#include "measure.h"

static const char *const part_names[] = { "checks", "steps", "sampling", "first", "scaling" };
enum { PARTS = sizeof part_names / sizeof *part_names };

/* ---- Settings ------------------------------------------------------------------------------- */

bool run_read_options(settings *set, int argc, char **argv)
{
    *set = (settings){ .seconds = 0.3,
                       .rounds = 5,
                       .peer_types = "f32",
                       .threads = { 1, hs_threads_default() },
                       .self = argv[0],
                       .folder = "/tmp/hastings_bench_XXXXXX" };
    const struct {
        const char *name, **text;
    } options[] = { { "--cases", &set->cases },
                    { "--objectives", &set->objectives },
                    { "--types", &set->types },
                    { "--peer-types", &set->peer_types },
                    { "--peer-objectives", &set->peer_objectives },
                    { "--parts", &set->parts },
                    { "--json", &set->json } };
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool known = false;
        for (size_t k = 0; k < sizeof options / sizeof *options && value; k++)
            if (strcmp(name, options[k].name) == 0) {
                *options[k].text = value;
                known = true;
            }
        if (value && strcmp(name, "--seconds") == 0)
            set->seconds = atof(value), known = true;
        if (value && strcmp(name, "--rounds") == 0)
            set->rounds = atoi(value), known = true;
        if (!known)
            return false;
    }
    return set->seconds > 0 && set->rounds >= 1 && set->rounds <= MAX_ROUNDS;
}

bool listed(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return !list;
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
    for (int i = 0; i < PARTS; i++)
        if (!json_object_get(result, part_names[i]))
            json_object_set_new(result, part_names[i], json_array());
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

/* Writes a new file and then puts it in the place of the old: there is a whole one at any time. */
bool run_save(const settings *set)
{
    const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(6);
    char part[4096] = "";
    bool ok;
    if (set->json) {
        const int length = snprintf(part, sizeof part, "%s.part", set->json);
        ok = length < (int)sizeof part && json_dump_file(set->result, part, flags) == 0 &&
             rename(part, set->json) == 0;
    } else {
        ok = json_dumpf(set->result, stdout, flags) == 0;
    }
    if (!ok)
        fprintf(stderr, "%s: cannot write it: %s\n", set->json ? set->json : "standard output",
                strerror(errno));
    return ok;
}

/* Whether two rows agree in what a row is of. */
static bool is_of_same(const json_t *a, const json_t *b)
{
    static const char *const keys[] = { "case", "objective", "type",
                                        "kind", "chains",    "what", "size" };
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
