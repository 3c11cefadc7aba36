/* Reading of NetCDF files, which may be anyone's: nothing is believed before it is checked. */
#include "netcdf_read_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/tensor/memory.h>

hs_status hs__netcdf_fail(const netcdf_reader *r, int error, const char *what)
{
    const hs_status status = error == NC_ENOMEM ? HS_ENOMEM : error > 0 ? HS_EIO : HS_EFORMAT;
    if (error == NC_EHDFERR)
        return NETCDF_FAIL(r, HS_EFORMAT,
                           "damaged: the bytes of %.100s are not those that were written, by their "
                           "checksum or their order in the file",
                           r->path, what);
    if (error == NC_ERANGE)
        return NETCDF_FAIL(r, HS_EFORMAT,
                           "incomplete or damaged: some numbers of %.100s were never written",
                           r->path, what);
    return NETCDF_FAIL(r, status, "cannot read %.100s: %s", r->path, what, nc_strerror(error));
}

/* ---- Which variables ------------------------------------------------------------------------- */

static bool is_real(nc_type type)
{
    return type == NC_FLOAT || type == NC_DOUBLE;
}

static bool is_number(nc_type type)
{
    return type >= NC_BYTE && type <= NC_UINT64 && type != NC_CHAR;
}

/* The name, type and axes of a variable; NC_EMAXDIMS if there are more than we read. */
static int inquire(int group, int variable, netcdf_field *field, nc_type *type)
{
    *field = (netcdf_field){ .variable = variable, .count = 1 };
    int error = nc_inq_varname(group, variable, field->name);
    if (error == NC_NOERR)
        error = nc_inq_vartype(group, variable, type);
    if (error == NC_NOERR)
        error = nc_inq_varndims(group, variable, &field->rank);
    if (error == NC_NOERR && field->rank > NETCDF_RANK)
        error = NC_EMAXDIMS;
    if (error == NC_NOERR)
        error = nc_inq_vardimid(group, variable, field->dimension);
    for (int i = 0; i < field->rank && error == NC_NOERR; i++)
        error = nc_inq_dimlen(group, field->dimension[i], &field->length[i]);
    return error;
}

static bool has_name(int group, int dimension, const char *expected)
{
    char name[NC_MAX_NAME + 1];
    return nc_inq_dimname(group, dimension, name) == NC_NOERR && strcmp(name, expected) == 0;
}

static bool is_chain_draw(int group, const netcdf_field *field)
{
    return field->rank >= 2 && has_name(group, field->dimension[0], "chain") &&
           has_name(group, field->dimension[1], "draw");
}

enum { DEFLATED = 1032 }; /* the most bytes that one byte can hold: a match of 258 in two bits */

hs_status hs__netcdf_claim(netcdf_reader *r, size_t bytes, const char *what)
{
    char claimed[HS_BYTES_TEXT], there[HS_BYTES_TEXT];
    r->claimed = hs_size_add(r->claimed, bytes);
    if (r->claimed <= hs_size_product(r->bytes, DEFLATED))
        return HS_OK;
    return NETCDF_FAIL(r, HS_EFORMAT, "with %.100s it claims %s, which cannot be in a file of %s",
                       r->path, what, hs_bytes_text(r->claimed, claimed),
                       hs_bytes_text(r->bytes, there));
}

/* Adds a variable's numbers to the coordinates. */
static hs_status add_field(netcdf_reader *r, netcdf_field *field, nc_type type)
{
    const size_t chains = field->length[0], draws = field->length[1];
    size_t numbers = 1, size = 1;
    for (int i = 0; i < field->rank; i++) {
        if (field->length[i] == 0)
            return NETCDF_FAIL(r, HS_ESHAPE, "variable \"%.100s\" has no draws: axis %d is empty",
                               r->path, field->name, i);
        numbers = hs_size_product(numbers, field->length[i]);
    }
    (void)nc_inq_type(r->group, type, NULL, &size);
    const hs_status status = hs__netcdf_claim(r, hs_size_product(numbers, size), field->name);
    if (status != HS_OK)
        return status;
    if (r->fields > 0 && (chains != r->chains || draws != r->draws))
        return NETCDF_FAIL(
            r, HS_ESHAPE,
            "variable \"%.100s\" has %zu chains of %zu draws, expected %zu of %zu as those before",
            r->path, field->name, chains, draws, r->chains, r->draws);
    r->chains = chains;
    r->draws = draws;
    field->count = numbers / chains / draws;
    r->dim += field->count;
    r->field[r->fields++] = *field;
    return HS_OK;
}

/* Looks at variable number i of the group. */
static hs_status consider(netcdf_reader *r, int i, const char *wanted)
{
    netcdf_field field;
    nc_type type = NC_NAT;
    const int error = inquire(r->group, i, &field, &type);
    const bool is_wanted = wanted && strcmp(field.name, wanted) == 0;
    if (error == NC_EMAXDIMS && (is_wanted || !wanted))
        return NETCDF_FAIL(r, HS_ESHAPE, "variable \"%.100s\" has %d axes, expected at most %d",
                           r->path, field.name, field.rank, NETCDF_RANK);
    if (error != NC_NOERR && error != NC_EMAXDIMS)
        return hs__netcdf_fail(r, error, "its variables");
    const bool draws = error == NC_NOERR && is_chain_draw(r->group, &field);
    if (is_wanted && !is_number(type))
        return NETCDF_FAIL(r, HS_EDTYPE, "variable \"%.100s\" is not of numbers", r->path,
                           field.name);
    if (is_wanted && !draws)
        return NETCDF_FAIL(r, HS_ESHAPE,
                           "the axes of variable \"%.100s\" do not begin with chain and draw",
                           r->path, field.name);
    if (is_wanted || (!wanted && draws && is_real(type)))
        return add_field(r, &field, type);
    return HS_OK;
}

static hs_status choose_fields(netcdf_reader *r, const char *wanted)
{
    int count = 0;
    const int error = nc_inq_nvars(r->group, &count);
    if (error != NC_NOERR)
        return hs__netcdf_fail(r, error, "its variables");
    r->field = hs_alloc(((size_t)count + 1) * sizeof *r->field);
    if (!r->field)
        return NETCDF_FAIL(r, HS_ENOMEM, "out of memory for %d variables", r->path, count);
    hs_status status = HS_OK;
    for (int i = 0; i < count && status == HS_OK; i++)
        status = consider(r, i, wanted);
    if (status == HS_OK && r->fields == 0 && wanted)
        return NETCDF_FAIL(r, HS_EFORMAT, "it has no variable \"%.100s\"", r->path, wanted);
    if (status == HS_OK && r->fields == 0)
        return NETCDF_FAIL(
            r, HS_EFORMAT,
            "no variable of its %d is floating-point numbers whose axes begin with chain and draw",
            r->path, count);
    return status;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Numbers that were never written, or whose place in the file was lost, are read as this one. */
static bool has_holes(const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] == NC_FILL_DOUBLE)
            return true;
    return false;
}

static hs_status read_field(const netcdf_reader *r, const netcdf_field *field, size_t offset,
                            hs_chains *c)
{
    const size_t draws = r->draws;
    double *chain = hs_alloc(draws * field->count * sizeof *chain);
    if (!chain)
        return NETCDF_FAIL(r, HS_ENOMEM, "out of memory for one chain", r->path);
    size_t start[NETCDF_RANK] = { 0 }, count[NETCDF_RANK];
    memcpy(count, field->length, sizeof count);
    count[0] = 1;
    int error = NC_NOERR;
    for (size_t m = 0; m < r->chains && error == NC_NOERR; m++) {
        start[0] = m;
        error = nc_get_vara_double(r->group, field->variable, start, count, chain);
        if (error == NC_NOERR && has_holes(chain, draws * field->count))
            error = NC_ERANGE;
        for (size_t n = 0; n < draws && error == NC_NOERR; n++)
            memcpy(hs_chains_draw(c, m, n) + offset, chain + n * field->count,
                   field->count * sizeof *chain);
    }
    hs_free(chain);
    return error == NC_NOERR ? HS_OK : hs__netcdf_fail(r, error, field->name);
}

/* The variable of a statistic if it is there and has one number a draw; -1 otherwise. */
static int find_stat(netcdf_reader *r, int group, const char *name)
{
    int variable;
    netcdf_field field;
    nc_type type = NC_NAT;
    int error = nc_inq_varid(group, name, &variable);
    if (error == NC_NOERR)
        error = inquire(group, variable, &field, &type);
    if (error != NC_NOERR) {
        r->error = error == NC_ENOTVAR || error == NC_EMAXDIMS ? r->error : error;
        return -1;
    }
    const bool fits = field.rank == 2 && is_chain_draw(group, &field) && is_number(type) &&
                      field.length[0] == r->chains && field.length[1] == r->draws;
    return fits ? variable : -1;
}

/* Whether a group has the attribute, and it is one number. */
static bool has_number(netcdf_reader *r, int group, const char *name)
{
    nc_type type = NC_NAT;
    size_t length = 0;
    const int error = nc_inq_att(group, NC_GLOBAL, name, &type, &length);
    if (error != NC_NOERR && error != NC_ENOTATT)
        r->error = error;
    return error == NC_NOERR && length == 1 && is_number(type);
}

static uint64_t get_count(netcdf_reader *r, int group, const char *name)
{
    unsigned long long value = 0;
    const bool there = has_number(r, group, name);
    return there && nc_get_att_ulonglong(group, NC_GLOBAL, name, &value) == NC_NOERR ? value : 0;
}

static double get_seconds(netcdf_reader *r, int group)
{
    double value = 0;
    const bool there = has_number(r, group, "sampling_time");
    return there && nc_get_att_double(group, NC_GLOBAL, "sampling_time", &value) == NC_NOERR ? value
                                                                                             : 0;
}

static hs_status read_all(netcdf_reader *r, int stats, hs_chains **chains)
{
    unsigned keep = 0;
    int variable[NETCDF_NUMBERS + 1];
    for (int i = 0; i <= NETCDF_NUMBERS; i++) {
        variable[i] = stats < 0 ? -1 : find_stat(r, stats, hs__netcdf_stats[i].name);
        keep |= variable[i] < 0 ? 0 : hs__netcdf_stats[i].keep;
    }
    hs_message why;
    hs_status status = hs_chains_new(chains, r->chains, r->draws, r->dim, keep, &why);
    if (status != HS_OK)
        return NETCDF_FAIL(r, status, "%s", r->path, why.text);
    hs_chains *c = *chains;
    for (size_t i = 0, offset = 0; i < r->fields && status == HS_OK; offset += r->field[i++].count)
        status = read_field(r, &r->field[i], offset, c);
    int error = NC_NOERR;
    const size_t rows = r->chains * r->draws;
    for (int i = 0; i < NETCDF_NUMBERS && error == NC_NOERR; i++) {
        double *numbers = hs__chains_numbers(c, hs__netcdf_stats[i].keep);
        if (numbers)
            error = nc_get_var_double(stats, variable[i], numbers);
        if (numbers && error == NC_NOERR && has_holes(numbers, rows))
            error = NC_ERANGE;
    }
    if (c->accepted && error == NC_NOERR)
        error = nc_get_var_schar(stats, variable[NETCDF_NUMBERS], (signed char *)c->accepted);
    if (c->accepted && error == NC_NOERR && memchr(c->accepted, NC_FILL_BYTE, rows))
        error = NC_ERANGE;
    if (error != NC_NOERR && status == HS_OK)
        status = hs__netcdf_fail(r, error, STATS);
    if (stats >= 0) {
        c->proposals = get_count(r, stats, "proposals");
        c->gradients = get_count(r, stats, "gradients");
        c->nonfinite = get_count(r, stats, "nonfinite");
    }
    c->seconds = get_seconds(r, r->group);
    if (r->error != NC_NOERR && status == HS_OK)
        status = hs__netcdf_fail(r, r->error, "its attributes");
    return status;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Finds the group with the draws, and that with statistics (or -1). */
static hs_status find_groups(netcdf_reader *r, const char *wanted, int *stats)
{
    *stats = -1;
    if (nc_inq_grp_ncid(r->file, wanted ? wanted : POSTERIOR, &r->group) != NC_NOERR) {
        int dimension;
        r->group = r->file; /* a data set that was saved by itself */
        if (wanted || nc_inq_dimid(r->file, "chain", &dimension) != NC_NOERR)
            return NETCDF_FAIL(r, HS_EFORMAT, "it has no group \"%.100s\"", r->path,
                               wanted ? wanted : POSTERIOR);
    } else if (!wanted || strcmp(wanted, POSTERIOR) == 0) {
        if (nc_inq_grp_ncid(r->file, STATS, stats) != NC_NOERR)
            *stats = -1;
    }
    return HS_OK;
}

static hs_status load(netcdf_reader *r, const hs_netcdf_selection *selection, hs_chains **chains,
                      hs_chain_names *names)
{
    const int error = nc_open(r->path, NC_NOWRITE, &r->file);
    if (error != NC_NOERR)
        return NETCDF_FAIL(r, error > 0 ? HS_EIO : HS_EFORMAT, "damaged, or not a NetCDF file: %s",
                           r->path, nc_strerror(error));
    int stats;
    hs_status status = find_groups(r, selection->group, &stats);
    if (status == HS_OK)
        status = choose_fields(r, selection->variable);
    if (status == HS_OK)
        status = read_all(r, stats, chains);
    if (status == HS_OK && names)
        status = hs__netcdf_read_names(r, names);
    nc_close(r->file);
    hs_free(r->field);
    return status;
}

hs_status hs_chains_load_netcdf(hs_chains **chains, const char *path,
                                const hs_netcdf_selection *selection, hs_chain_names *names,
                                hs_message *message)
{
    hs_message_clear(message);
    if (names)
        *names = (hs_chain_names){ 0 };
    if (chains)
        *chains = NULL;
    if (!chains || !path)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_chains_load_netcdf: no path, or no place for the chains");
    netcdf_reader r = { .path = path, .message = message };
    struct stat found;
    if (stat(path, &found) != 0 || access(path, R_OK) != 0)
        return NETCDF_FAIL(&r, HS_EIO, "cannot open it: %s", path, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return NETCDF_FAIL(&r, HS_EIO, "not a regular file", path);
    r.bytes = (size_t)found.st_size;
    hs__netcdf_lock();
    const hs_status status =
        load(&r, selection ? selection : &(hs_netcdf_selection){ 0 }, chains, names);
    hs__netcdf_unlock();
    if (status != HS_OK) {
        hs_chains_free(*chains);
        *chains = NULL;
        hs_chain_names_free(names);
    }
    return status;
}
