/* How the fuzzer changes JSON: three times of four it changes a value and keeps the rest sound, where changed bytes would
 * mostly be no JSON. */
#include <string.h>

#include <jansson.h>

#include "fuzz.h"

/* NOLINTBEGIN(readability-identifier-naming): these are libFuzzer's names */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
/* NOLINTEND(readability-identifier-naming) */

enum { MOST_VALUES = 2048 };

/* A place in an object (by key) or in an array (by index). */
typedef struct {
    json_t *container;
    const char *key;
    size_t index;
} place;

typedef struct {
    place values[MOST_VALUES];
    size_t count;
} places;

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Finds all values below one. */
static void find_places(json_t *json, places *all)
{
    const char *key;
    json_t *value;
    size_t index;
    json_object_foreach(json, key, value)
    {
        if (all->count < MOST_VALUES)
            all->values[all->count++] = (place){ .container = json, .key = key };
        find_places(value, all);
    }
    json_array_foreach(json, index, value)
    {
        if (all->count < MOST_VALUES)
            all->values[all->count++] = (place){ .container = json, .index = index };
        find_places(value, all);
    }
}

static json_t *value_at(const place *p)
{
    return p->key ? json_object_get(p->container, p->key) : json_array_get(p->container, p->index);
}

/* Another text; the same if that is no UTF-8. */
static json_t *mutate_text(const json_t *text)
{
    uint8_t bytes[256];
    const size_t length = json_string_length(text);
    const size_t size = length < sizeof bytes ? length : sizeof bytes;
    memcpy(bytes, json_string_value(text), size);
    json_t *other = json_stringn((const char *)bytes, LLVMFuzzerMutate(bytes, size, sizeof bytes));
    return other ? other : json_string(json_string_value(text));
}

static json_t *mutate_number(const json_t *number, unsigned *seed)
{
    static const double factors[] = { -1, 0, 0.5, 2, 1e10, 1e300, 1e-300 };
    const double x = json_number_value(number);
    const double factor = factors[next_random(seed) % (sizeof factors / sizeof *factors)];
    const double changed = x * factor;
    if (next_random(seed) % 2)
        return json_integer((json_int_t)(changed > -1e18 && changed < 1e18 ? changed : 1e18));
    json_t *other = json_real(changed); /* NULL for an infinity */
    return other ? other : json_real(1e308);
}

/* A value for a place: a special one, a copy of another, or one like that which is there. */
static json_t *another_value(const json_t *old, const places *all, unsigned *seed)
{
    switch (next_random(seed) % 10) {
    case 0:
        return json_null();
    case 1:
        return json_array();
    case 2:
        return json_object();
    case 3:
        return json_string("");
    case 4:
        return json_boolean(next_random(seed) % 2);
    case 5:
    case 6:
        return json_deep_copy(value_at(&all->values[next_random(seed) % all->count]));
    default:
        return json_is_string(old)   ? mutate_text(old)
               : json_is_number(old) ? mutate_number(old, seed)
                                     : json_real((double)next_random(seed) - 1e6);
    }
}

static void mutate(json_t *json, unsigned *seed)
{
    static places all;
    all.count = 0;
    find_places(json, &all);
    if (all.count == 0)
        return;
    const place *p = &all.values[next_random(seed) % all.count];
    const unsigned way = next_random(seed) % 8;
    if (way == 0 && p->key)
        json_object_del(p->container, p->key);
    else if (way == 0)
        json_array_remove(p->container, p->index);
    else if (way == 1 && !p->key)
        json_array_append_new(p->container, json_deep_copy(value_at(p)));
    else if (p->key)
        json_object_set_new(p->container, p->key, another_value(value_at(p), &all, seed));
    else
        json_array_set_new(p->container, p->index, another_value(value_at(p), &all, seed));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    json_t *json =
        seed % 4 ? json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json)
        return LLVMFuzzerMutate(data, size, most);
    mutate(json, &seed);
    const size_t length = json_dumpb(json, (char *)data, most, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    return length <= most ? length : most;
}
