/* Names of coordinates: the variable, and in brackets the labels of its axes. */
#include "netcdf_read_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/memory.h>

/* Labels of one axis: text, or numbers. */
typedef struct {
    size_t count;
    const char **text; /* [count] */
    long long *index;  /* [count] */
    hs_arena memory;   /* of the texts */
} axis;

static void free_axis(axis *a)
{
    hs_arena_free(&a->memory);
    hs_free(a->text);
    hs_free(a->index);
}

/* The variable that labels a dimension has its name; it may be missing, or of a kind that we do not
 * know, and then positions are the labels. */
static nc_type find_labels(const netcdf_reader *r, int dimension, int *variable)
{
    char name[NC_MAX_NAME + 1];
    nc_type type = NC_NAT;
    int rank = 0, own = -1;
    if (nc_inq_dimname(r->group, dimension, name) != NC_NOERR ||
        nc_inq_varid(r->group, name, variable) != NC_NOERR ||
        nc_inq_varndims(r->group, *variable, &rank) != NC_NOERR || rank != 1 ||
        nc_inq_vardimid(r->group, *variable, &own) != NC_NOERR || own != dimension ||
        nc_inq_vartype(r->group, *variable, &type) != NC_NOERR)
        return NC_NAT;
    const bool is_integer = type == NC_BYTE || type == NC_SHORT || type == NC_INT ||
                            (type >= NC_UBYTE && type <= NC_UINT64);
    return type == NC_STRING ? NC_STRING : is_integer ? NC_INT64 : NC_NAT;
}

/* Copies texts. The library's are allocated for each, although a file can name a long one many times: so they are read
 * a few at a time, and their bytes are counted. */
static hs_status read_texts(netcdf_reader *r, int variable, axis *a)
{
    enum { FEW = 16 };
    hs_status status = HS_OK;
    for (size_t first = 0; first < a->count && status == HS_OK; first += FEW) {
        char *few[FEW] = { NULL };
        const size_t n = a->count - first < FEW ? a->count - first : FEW;
        const int error = nc_get_vara_string(r->group, variable, &first, &n, few);
        if (error != NC_NOERR)
            return hs__netcdf_fail(r, error, "labels");
        for (size_t i = 0; i < n && status == HS_OK; i++) {
            const char *text = few[i] ? few[i] : "";
            status = hs__netcdf_claim(r, strlen(text) + 1, "labels");
            if (status == HS_OK && !(a->text[first + i] = hs_arena_string(&a->memory, text)))
                status = NETCDF_FAIL(r, HS_ENOMEM, "out of memory for labels", r->path);
        }
        (void)nc_free_string(n, few);
    }
    return status;
}

static hs_status read_axis(netcdf_reader *r, int dimension, size_t count, axis *a)
{
    int variable = -1, error = NC_NOERR;
    const nc_type type = find_labels(r, dimension, &variable);
    *a = (axis){ .count = count };
    if (type == NC_STRING)
        a->text = hs_alloc_zero(count, sizeof *a->text);
    else
        a->index = hs_alloc_zero(count, sizeof *a->index);
    if (!a->text && !a->index)
        return NETCDF_FAIL(r, HS_ENOMEM, "out of memory for %zu labels", r->path, count);
    if (type == NC_STRING)
        return read_texts(r, variable, a);
    if (type == NC_INT64)
        error = nc_get_var_longlong(r->group, variable, a->index);
    for (size_t i = 0; type == NC_NAT && i < count; i++)
        a->index[i] = (long long)i;
    return error == NC_NOERR ? HS_OK : hs__netcdf_fail(r, error, "labels");
}

/* Appends to text[size], where `used` bytes are used; returns how many are now. Without `text`,
 * only counts. */
static size_t append(char *text, size_t size, size_t used, const char *more)
{
    const size_t length = strlen(more);
    if (text && used + length < size)
        memcpy(text + used, more, length + 1);
    return used + length;
}

/* The name of element i of a field; returns its length. */
static size_t write_name(const netcdf_field *field, const axis *axes, bool labels_alone, size_t i,
                         char *text, size_t size)
{
    const int extra = field->rank - 2;
    size_t used = labels_alone ? 0 : append(text, size, 0, field->name);
    for (int k = 0; k < extra; k++) {
        size_t stride = 1;
        for (int later = k + 1; later < extra; later++)
            stride *= axes[later].count;
        const axis *a = &axes[k];
        const size_t at = i / stride % a->count;
        char number[32];
        snprintf(number, sizeof number, "%lld", a->index ? a->index[at] : 0);
        if (!labels_alone)
            used = append(text, size, used, k == 0 ? "[" : ", ");
        used = append(text, size, used, a->index ? number : a->text[at]);
    }
    return labels_alone || extra == 0 ? used : append(text, size, used, "]");
}

static hs_status name_field(netcdf_reader *r, const netcdf_field *field, hs_chain_names *names)
{
    axis axes[NETCDF_RANK] = { { 0 } };
    const int extra = field->rank - 2;
    hs_status status = HS_OK;
    for (int k = 0; k < extra && status == HS_OK; k++)
        status = read_axis(r, field->dimension[k + 2], field->length[k + 2], &axes[k]);
    const bool labels_alone = r->fields == 1 && extra == 1 && axes[0].text;
    for (size_t i = 0; i < field->count && status == HS_OK; i++) {
        const size_t size = write_name(field, axes, labels_alone, i, NULL, 0) + 1;
        status = hs__netcdf_claim(r, size, "names of coordinates");
        if (status != HS_OK)
            break;
        char *text = hs_arena_alloc(&names->text, size);
        if (!text)
            status = NETCDF_FAIL(r, HS_ENOMEM, "out of memory for names", r->path);
        else
            write_name(field, axes, labels_alone, i, text, size);
        names->name[names->count] = text;
        names->count += text != NULL;
    }
    for (int k = 0; k < extra; k++)
        free_axis(&axes[k]);
    return status;
}

hs_status hs__netcdf_read_names(netcdf_reader *r, hs_chain_names *names)
{
    names->name = hs_arena_alloc(&names->text, r->dim * sizeof *names->name);
    if (!names->name)
        return NETCDF_FAIL(r, HS_ENOMEM, "out of memory for %zu names", r->path, r->dim);
    hs_status status = HS_OK;
    for (size_t i = 0; i < r->fields && status == HS_OK; i++)
        status = name_field(r, &r->field[i], names);
    return status;
}
