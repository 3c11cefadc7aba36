/* A validator for the part of JSON Schema that docs/result.schema.json uses.
 *
 *     char why[SCHEMA_TEXT];
 *     ck_assert_msg(schema_accepts(schema, json, why), "%s", why);
 *
 * It knows $ref to #/$defs/NAME, type, enum, required, properties, additionalProperties, items, minItems, maxItems
 * and minimum. A schema with any other keyword is refused, so that no rule is passed over.
 */
#ifndef HASTINGS_TESTS_SUPPORT_JSON_SCHEMA_H
#define HASTINGS_TESTS_SUPPORT_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SCHEMA_TEXT = 512 };

typedef struct {
    json_t *root;
    char path[256]; /* of the value that is looked at */
    char *why;
} schema_walk;

static inline bool schema_fail(schema_walk *w, const char *what, const char *detail)
{
    snprintf(w->why, SCHEMA_TEXT, "%s: %s %s", *w->path ? w->path : "(all)", what, detail);
    return false;
}

static inline bool schema_is_type(const json_t *value, const char *type)
{
    return (!strcmp(type, "object") && json_is_object(value)) ||
           (!strcmp(type, "array") && json_is_array(value)) ||
           (!strcmp(type, "string") && json_is_string(value)) ||
           (!strcmp(type, "number") && json_is_number(value)) ||
           (!strcmp(type, "integer") && json_is_integer(value)) ||
           (!strcmp(type, "boolean") && json_is_boolean(value)) ||
           (!strcmp(type, "null") && json_is_null(value));
}

static inline bool schema_check(schema_walk *w, json_t *schema, json_t *value);

/* Checks a member or an entry, whose place in the path is `step`. */
static inline bool schema_below(schema_walk *w, json_t *schema, json_t *value, const char *step)
{
    const size_t n = strlen(w->path);
    snprintf(w->path + n, sizeof w->path - n, "%s", step);
    const bool sound = schema_check(w, schema, value);
    if (sound)
        w->path[n] = 0;
    return sound;
}

static inline bool schema_members(schema_walk *w, json_t *schema, json_t *value)
{
    json_t *known = json_object_get(schema, "properties");
    json_t *other = json_object_get(schema, "additionalProperties"), *member;
    const char *key;
    char step[128];
    json_object_foreach(value, key, member)
    {
        json_t *its = json_object_get(known, key);
        snprintf(step, sizeof step, ".%s", key);
        if (!its && json_is_false(other))
            return schema_fail(w, "there must be no key", key);
        its = its ? its : other;
        if (its && !schema_below(w, its, member, step))
            return false;
    }
    return true;
}

/* One keyword of a schema. */
static inline bool schema_rule(schema_walk *w, json_t *schema, const char *keyword, json_t *rule,
                               json_t *value)
{
    size_t i;
    json_t *item;
    char step[32];
    if (!strcmp(keyword, "$ref")) {
        const char *name = json_string_value(rule);
        json_t *there = !strncmp(name, "#/$defs/", 8)
                            ? json_object_get(json_object_get(w->root, "$defs"), name + 8)
                            : NULL;
        return there ? schema_check(w, there, value) : schema_fail(w, "nothing is at", name);
    }
    if (!strcmp(keyword, "type")) {
        bool any = json_is_string(rule) && schema_is_type(value, json_string_value(rule));
        json_array_foreach(rule, i, item)
        {
            any |= schema_is_type(value, json_string_value(item));
        }
        char *types = json_dumps(rule, JSON_ENCODE_ANY);
        if (!any)
            schema_fail(w, "its type must be", types);
        free(types);
        return any;
    }
    if (!strcmp(keyword, "enum")) {
        json_array_foreach(rule, i, item)
        {
            if (json_equal(item, value))
                return true;
        }
        return schema_fail(w, "it is none of the values that it may have", "");
    }
    if (!strcmp(keyword, "required")) {
        json_array_foreach(rule, i, item)
        {
            if (!json_object_get(value, json_string_value(item)))
                return schema_fail(w, "there must be a key", json_string_value(item));
        }
        return true;
    }
    if (!strcmp(keyword, "items")) {
        json_array_foreach(value, i, item)
        {
            snprintf(step, sizeof step, "[%zu]", i);
            if (!schema_below(w, rule, item, step))
                return false;
        }
        return true;
    }
    if (!strcmp(keyword, "minItems"))
        return (json_int_t)json_array_size(value) >= json_integer_value(rule) ||
               schema_fail(w, "there are too few", "");
    if (!strcmp(keyword, "maxItems"))
        return (json_int_t)json_array_size(value) <= json_integer_value(rule) ||
               schema_fail(w, "there are too many", "");
    if (!strcmp(keyword, "minimum"))
        return json_number_value(value) >= json_number_value(rule) ||
               schema_fail(w, "it is too small", "");
    if (!strcmp(keyword, "properties") || !strcmp(keyword, "additionalProperties"))
        return schema_members(w, schema, value);
    static const char *const notes[] = { "$schema", "title", "description", "$defs" };
    for (i = 0; i < sizeof notes / sizeof *notes; i++)
        if (!strcmp(keyword, notes[i]))
            return true;
    return schema_fail(w, "the schema has a keyword that is not understood:", keyword);
}

static inline bool schema_check(schema_walk *w, json_t *schema, json_t *value)
{
    const char *keyword;
    json_t *rule;
    json_object_foreach(schema, keyword, rule)
    {
        if (!schema_rule(w, schema, keyword, rule, value))
            return false;
    }
    return true;
}

/* Whether a value follows a schema; `why` says what does not, and where. */
static inline bool schema_accepts(json_t *schema, json_t *value, char why[SCHEMA_TEXT])
{
    schema_walk w = { .root = schema, .why = why };
    why[0] = 0;
    return schema_check(&w, schema, value);
}

#endif
