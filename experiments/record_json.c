/* Records to JSON and back, from one table of their fields. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <hastings/experiments/json.h>
#include <hastings/experiments/record.h>
#include <hastings/mcmc/diagnostics/figures.h>
#include <hastings/tensor/message.h>

/* ---- The table ------------------------------------------------------------------------------ */

typedef enum {
    TEXT,
    COUNT,
    NUMBER,
    NUMBERS,
    PAIRS,
    STATE,
    FIGURES,
    COORDINATES,
    PART,
    LIST
} field_type;
enum { ALWAYS, MAYBE };

typedef struct part part;
typedef struct {
    int need;
    field_type type;
    const char *key;
    size_t at;      /* in the struct */
    const part *of; /* of PART and LIST */
} field;

/* A struct: its size, and its fields up to one without a key. */
struct part {
    size_t size;
    const field *fields;
};

static const part none_part = { 0 };
#define FIELD(S, need, type, member, key, of, sentence)                                            \
    { need, type, key, offsetof(S, member), &of##_part },
#define PART_OF(name, FIELDS)                                                                      \
    static const field name##_fields[] = { FIELDS(FIELD, app_##name){ 0 } };                       \
    static const part name##_part = { sizeof(app_##name), name##_fields };
PART_OF(curve, APP_CURVE_FIELDS)
PART_OF(try, APP_TRY_FIELDS)
PART_OF(training, APP_TRAINING_FIELDS)
PART_OF(remark, APP_REMARK_FIELDS)
PART_OF(density, APP_DENSITY_FIELDS)
PART_OF(component, APP_COMPONENT_FIELDS)
PART_OF(weights, APP_WEIGHTS_FIELDS)
PART_OF(record, APP_RECORD_FIELDS)

static const char *const states[] = { "pending", "done", "partial", "failed" };
enum { STATES = sizeof states / sizeof *states };

const char *app_job_state_name(app_job_state state)
{
    return states[state];
}

/* ---- To JSON -------------------------------------------------------------------------------- */

/* Numbers in a row, in groups of `width`. */
static json_t *numbers_json(const app_numbers *numbers, size_t width)
{
    json_t *list = json_array(), *group = list;
    for (size_t i = 0; i < numbers->n; i++) {
        if (width > 1 && i % width == 0)
            json_array_append_new(list, group = json_array());
        json_array_append_new(group, app_json_number(numbers->x[i]));
    }
    return list;
}

static json_t *figures_json(const app_figure_value *figure)
{
    json_t *all = json_object();
    for (size_t i = 0; i < APP_FIGURES; i++) {
        char error[64];
        snprintf(error, sizeof error, "%s_error", app_column_at(i)->key);
        if (figure[i].known)
            json_object_set_new(all, app_column_at(i)->key, app_json_number(figure[i].value));
        if (figure[i].known && !isnan(figure[i].error))
            json_object_set_new(all, error, app_json_number(figure[i].error));
    }
    return all;
}

static json_t *coordinates_json(const app_numbers *numbers)
{
    json_t *list = json_array();
    for (size_t i = 0; i < numbers->n;) {
        json_t *one = json_object();
        for (size_t k = 0; hs_coordinate_figure_at(k) && i < numbers->n; k++)
            json_object_set_new(one, hs_coordinate_figure_at(k)->key,
                                app_json_number(numbers->x[i++]));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *part_json(const part *p, const void *from);

static json_t *list_json(const part *p, const app_list *from)
{
    json_t *list = json_array();
    for (size_t i = 0; i < from->n; i++)
        json_array_append_new(list, part_json(p, (const char *)from->items + i * p->size));
    return list;
}

/* The value of a field; NULL if it is not there. */
static json_t *field_json(const field *f, const void *at)
{
    const app_numbers *numbers = at;
    const char *const *text = at;
    const void *const *pointer = at;
    switch (f->type) {
    case TEXT:
        return *text ? app_json_text(*text) : NULL;
    case COUNT:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case NUMBER:
        return app_json_number(*(const double *)at);
    case NUMBERS:
    case PAIRS:
        return numbers->x ? numbers_json(numbers, f->type == PAIRS ? 2 : 1) : NULL;
    case STATE:
        return json_string(app_job_state_name(*(const app_job_state *)at));
    case FIGURES:
        return figures_json(at);
    case COORDINATES:
        return numbers->x ? coordinates_json(numbers) : NULL;
    case PART:
        return *pointer ? part_json(f->of, *pointer) : NULL;
    case LIST:
        return ((const app_list *)at)->items ? list_json(f->of, at) : NULL;
    }
    return NULL;
}

static json_t *part_json(const part *p, const void *from)
{
    json_t *object = json_object();
    for (const field *f = p->fields; f->key; f++) {
        json_t *value = field_json(f, (const char *)from + f->at);
        if (value)
            json_object_set_new(object, f->key, value);
    }
    return object;
}

json_t *app_record_json(const app_record *r)
{
    return part_json(&record_part, r);
}

/* ---- From JSON ------------------------------------------------------------------------------ */

typedef struct {
    app_record *record; /* owns the memory */
    const char *where;
    hs_message *message;
    char path[160]; /* of the value that is being read: training.tries[2].loss */
} reader;

static bool refuse(reader *r, const char *expected)
{
    hs_message_fail(r->message, HS_EFORMAT, "%s: \"%s\" must be %s", r->where, r->path, expected);
    return false;
}

/* Goes down to a key, or to an entry of a list if key is NULL. Returns the length of the path before. */
static size_t enter(reader *r, const char *key, size_t i)
{
    const size_t n = strlen(r->path);
    if (key)
        snprintf(r->path + n, sizeof r->path - n, "%s%s", n ? "." : "", key);
    else
        snprintf(r->path + n, sizeof r->path - n, "[%zu]", i);
    return n;
}

static bool is_number(const json_t *value, double *to)
{
    *to = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return json_is_number(value) || json_is_null(value);
}

static bool read_numbers(reader *r, const json_t *value, size_t width, app_numbers *to)
{
    const size_t n = json_array_size(value) * width;
    bool sound = json_is_array(value);
    *to = app_record_numbers(r->record, NULL, n);
    for (size_t i = 0; i < to->n && sound; i++) {
        const json_t *item = json_array_get(value, i / width);
        sound = width == 1 || json_array_size(item) == width;
        sound = sound && is_number(width == 1 ? item : json_array_get(item, i % width), &to->x[i]);
    }
    return sound || refuse(r, width == 1 ? "a list of numbers" : "a list of pairs of numbers");
}

/* A number that need not be there: NaN then. */
static bool read_number_of(reader *r, const json_t *object, const char *key, double *to)
{
    const json_t *value = json_object_get(object, key);
    const size_t before = enter(r, key, 0);
    const bool sound = is_number(value, to) || !value || refuse(r, "a number or null");
    r->path[before] = 0;
    return sound;
}

static bool read_figures(reader *r, const json_t *value, app_figure_value *to)
{
    bool sound = json_is_object(value) || refuse(r, "an object");
    for (size_t i = 0; i < APP_FIGURES && sound; i++) {
        const char *key = app_column_at(i)->key;
        char error[64];
        snprintf(error, sizeof error, "%s_error", key);
        to[i].known = json_object_get(value, key) != NULL;
        sound = read_number_of(r, value, key, &to[i].value) &&
                read_number_of(r, value, error, &to[i].error);
    }
    return sound;
}

static bool read_coordinates(reader *r, const json_t *value, app_numbers *to)
{
    size_t width = 0, n = 0;
    bool sound = json_is_array(value) || refuse(r, "a list of objects");
    while (hs_coordinate_figure_at(width))
        width++;
    *to = app_record_numbers(r->record, NULL, json_array_size(value) * width);
    for (size_t i = 0; n < to->n && sound; i++) {
        const json_t *one = json_array_get(value, i);
        const size_t before = enter(r, NULL, i);
        sound = json_is_object(one) || refuse(r, "an object");
        for (size_t k = 0; k < width && sound; k++)
            sound = read_number_of(r, one, hs_coordinate_figure_at(k)->key, &to->x[n++]);
        r->path[before] = 0;
    }
    return sound;
}

static bool read_state(reader *r, const json_t *value, app_job_state *to)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; i < STATES && text; i++)
        if (!strcmp(text, states[i])) {
            *to = (app_job_state)i;
            return true;
        }
    return refuse(r, "\"pending\", \"done\", \"partial\" or \"failed\"");
}

static bool read_part(reader *r, const part *p, const json_t *json, void *to);

static bool read_list(reader *r, const part *p, const json_t *value, app_list *to)
{
    bool sound = json_is_array(value) || refuse(r, "a list of objects");
    *to = (app_list){ app_record_alloc(r->record, json_array_size(value), p->size),
                      json_array_size(value) };
    for (size_t i = 0; i < to->n && to->items && sound; i++) {
        const size_t before = enter(r, NULL, i);
        sound = read_part(r, p, json_array_get(value, i), (char *)to->items + i * p->size);
        r->path[before] = 0;
    }
    return sound;
}

static bool read_field(reader *r, const field *f, const json_t *value, void *at)
{
    const char **text = at;
    void **pointer = at;
    switch (f->type) {
    case TEXT:
        if (json_is_string(value))
            *text = app_record_text(r->record, "%s", json_string_value(value));
        return json_is_string(value) || refuse(r, "text");
    case COUNT:
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
        return (json_is_integer(value) && json_integer_value(value) >= 0) ||
               refuse(r, "a whole number of at least 0");
    case NUMBER:
        return is_number(value, at) || refuse(r, "a number or null");
    case NUMBERS:
    case PAIRS:
        return read_numbers(r, value, f->type == PAIRS ? 2 : 1, at);
    case STATE:
        return read_state(r, value, at);
    case FIGURES:
        return read_figures(r, value, at);
    case COORDINATES:
        return read_coordinates(r, value, at);
    case PART:
        *pointer = app_record_alloc(r->record, 1, f->of->size);
        return !*pointer || read_part(r, f->of, value, *pointer);
    case LIST:
        return read_list(r, f->of, value, at);
    }
    return false;
}

static bool read_part(reader *r, const part *p, const json_t *json, void *to)
{
    bool sound = json_is_object(json) || refuse(r, "an object");
    for (const field *f = p->fields; f->key && sound; f++) {
        const json_t *value = json_object_get(json, f->key);
        const size_t before = enter(r, f->key, 0);
        if (value)
            sound = read_field(r, f, value, (char *)to + f->at);
        else if (f->need == ALWAYS)
            sound = refuse(r, "there");
        r->path[before] = 0;
    }
    return sound;
}

app_record *app_record_read(const json_t *json, const char *where, hs_message *m)
{
    reader r = { app_record_new(), where, m, "" };
    bool sound = r.record && read_part(&r, &record_part, json, r.record);
    if (!r.record || r.record->no_memory) {
        hs_message_fail(m, HS_ENOMEM, "%s: out of memory for the record of a job", where);
        sound = false;
    }
    if (sound)
        return r.record;
    app_record_free(r.record);
    return NULL;
}
