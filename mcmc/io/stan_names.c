/* Names of columns. Stan has arrays as theta.1, theta.2, ..., Z.1.1, Z.2.1, ...: from 1, the first
 * index fastest. Readers put arrays together by counting, so that a name may have this form only if
 * the whole array does. */
#include "stan_csv_internal.h"

#include <stdio.h>
#include <string.h>

enum { MOST_INDICES = 8, LONGEST_INDEX = 9 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- Plain names ----------------------------------------------------------------------------- */

char *hs__stan_plain_name(hs_arena *arena, const char *name)
{
    char *plain = hs_arena_alloc(arena, strlen(name) + 3);
    if (!plain)
        return NULL;
    size_t n = 0;
    if (!is_letter(name[0]))
        plain[n++] = 'x';
    for (; *name; name++) {
        if (is_letter(*name) || is_digit(*name))
            plain[n++] = *name;
        else if (plain[n - 1] != '_') /* one for all that is in between */
            plain[n++] = '_';
    }
    while (n > 1 && plain[n - 1] == '_') /* "__" at the end is the sampler's */
        n--;
    plain[n] = '\0';
    return plain;
}

/* ---- Elements of arrays ---------------------------------------------------------------------- */

/* A name such as Z[2,1], taken apart. */
typedef struct {
    const char *name;
    size_t base; /* length of what is before the bracket */
    int rank;    /* indices; 0 if the name is not of this form */
    size_t index[MOST_INDICES];
} element;

static element take_apart(const char *name)
{
    element e = { .name = name };
    const element none = e;
    if (!is_letter(name[0]))
        return none;
    const char *p = name;
    while (is_letter(*p) || is_digit(*p) || *p == '_')
        p++;
    e.base = (size_t)(p - name);
    for (char before = '['; *p == before && e.rank < MOST_INDICES; before = ',') {
        p++;
        while (*p == ' ')
            p++;
        size_t index = 0;
        int digits = 0;
        for (; is_digit(*p) && digits < LONGEST_INDEX; digits++)
            index = 10 * index + (size_t)(*p++ - '0');
        if (digits == 0)
            return none;
        e.index[e.rank++] = index;
    }
    return p[0] == ']' && p[1] == '\0' ? e : none;
}

static bool same_array(const element *a, const element *b)
{
    return a->rank == b->rank && a->base == b->base && memcmp(a->name, b->name, a->base) == 0;
}

/* Whether element number k of an array is the one that the last element says it should be. */
static bool is_in_place(const element *e, const element *last, size_t k)
{
    for (int i = 0; i < e->rank; i++) {
        const size_t length = last->index[i];
        if (length == 0 || e->index[i] != k % length + 1)
            return false;
        k /= length;
    }
    return k == 0;
}

/* How many names from the first on are of one array; *whole: it is all there, in Stan's order. */
static size_t count_array(const char *const *names, size_t count, bool *whole)
{
    const element first = take_apart(names[0]);
    element last = first;
    *whole = false;
    if (first.rank == 0)
        return 1;
    size_t n = 1;
    for (; n < count; n++) {
        const element e = take_apart(names[n]);
        if (!same_array(&first, &e))
            break;
        last = e;
    }
    size_t length = 1;
    for (int i = 0; i < last.rank; i++) {
        if (last.index[i] == 0 || length > n / last.index[i])
            return n;
        length *= last.index[i];
    }
    *whole = length == n;
    for (size_t k = 0; *whole && k < n; k++) {
        const element e = take_apart(names[k]);
        *whole = is_in_place(&e, &last, k);
    }
    return n;
}

static char *dotted(hs_arena *arena, const char *name)
{
    const element e = take_apart(name);
    const size_t size = e.base + (size_t)e.rank * (LONGEST_INDEX + 1) + 1;
    char *text = hs_arena_alloc(arena, size);
    if (!text)
        return NULL;
    memcpy(text, name, e.base);
    size_t used = e.base;
    for (int i = 0; i < e.rank; i++)
        used += (size_t)snprintf(text + used, size - used, ".%zu", e.index[i]);
    return text;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static bool is_taken(const hs_chain_names *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++)
        if (strcmp(columns->name[i], name) == 0)
            return true;
    return false;
}

/* A plain name that no column before has. */
static char *unique_name(hs_chain_names *columns, const char *name)
{
    char *plain = hs__stan_plain_name(&columns->text, name);
    if (!plain || !is_taken(columns, plain))
        return plain;
    const size_t size = strlen(plain) + 24;
    char *numbered = hs_arena_alloc(&columns->text, size);
    for (size_t k = 2; numbered && k <= columns->count + 2; k++) {
        snprintf(numbered, size, "%s_%zu", plain, k);
        if (!is_taken(columns, numbered))
            break;
    }
    return numbered;
}

bool hs__stan_column_names(const char *const *names, size_t count, hs_chain_names *columns)
{
    *columns = (hs_chain_names){ 0 };
    columns->name = hs_arena_alloc(&columns->text, count * sizeof *columns->name);
    size_t array = 0; /* names that follow and are of one array */
    bool whole = false;
    for (size_t i = 0; columns->name && i < count; i++) {
        char *name = NULL;
        const bool begins = names && array == 0;
        if (begins)
            array = count_array(names + i, count - i, &whole);
        array -= array > 0;
        if (!names) {
            name = hs_arena_alloc(&columns->text, 32);
            if (name)
                snprintf(name, 32, "x.%zu", i + 1);
        } else if (whole) {
            name = dotted(&columns->text, names[i]);
            if (begins && name && is_taken(columns, name)) /* there were two of the name */
                whole = false;
        }
        if (names && !whole)
            name = unique_name(columns, names[i]);
        if (!name)
            break;
        columns->name[columns->count++] = name;
    }
    return columns->count == count;
}

const char *hs__stan_shown_name(hs_arena *arena, const char *column, size_t length)
{
    char *shown = hs_arena_alloc(arena, length + 2);
    if (!shown)
        return NULL;
    memcpy(shown, column, length);
    shown[length] = '\0';
    char *dot = strchr(shown, '.');
    if (!dot || dot[1] == '\0' || strspn(dot, ".0123456789") != strlen(dot))
        return shown; /* a field of a tuple, or nothing to change */
    for (char *p = dot; *p; p++)
        if (*p == '.')
            *p = p == dot ? '[' : ',';
    memcpy(shown + length, "]", 2);
    return shown;
}
