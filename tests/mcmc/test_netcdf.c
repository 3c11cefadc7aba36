/* Chains as NetCDF files: round trips bit for bit, files of others, damage, full disks, threads. */
#include <dirent.h>
#include <netcdf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/io/netcdf.h>
#include "mcmc/io/netcdf_internal.h"

#include "support/full_disk.h"
#include "support/hs_check.h"
#include "support/scarce_memory.h"

static char directory[] = "/tmp/hastings_netcdf_XXXXXX";
static char path[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/draws.nc", directory);
}

static void remove_directory(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* and no temporary file is left */
}

/* Chains with every kind of number. */
static hs_chains *new_chains(size_t chains, size_t draws, size_t dim, unsigned keep)
{
    static const double odd[] = { (double)NAN, (double)INFINITY, -(double)INFINITY,
                                  -0.0,        5e-324,           1.7976931348623157e308 };
    hs_chains *c;
    ck_assert_int_eq(hs_chains_new(&c, chains, draws, dim, keep, NULL), HS_OK);
    for (size_t i = 0; i < chains * draws * dim; i++)
        c->x[i] = i % 7 == 3 ? odd[i / 7 % 6] : (double)i / 7 - 3;
    for (size_t i = 0; i < chains * draws; i++) {
        if (c->log_pi)
            c->log_pi[i] = i % 5 == 1 ? -(double)INFINITY : -(double)i / 3;
        if (c->alpha)
            c->alpha[i] = (double)(i % 10) / 9;
        if (c->jump)
            c->jump[i] = (double)i / 11;
        if (c->accepted)
            c->accepted[i] = i % 3 == 0;
    }
    c->proposals = UINT64_MAX - 1;
    c->gradients = 123456789012345;
    c->nonfinite = 3;
    c->seconds = 0.1;
    return c;
}

static void save(const hs_chains *c, const hs_netcdf_options *options)
{
    hs_message message;
    ck_assert_msg(hs_chains_save_netcdf(c, options, path, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
}

static hs_chains *load(const hs_netcdf_selection *selection, hs_chain_names *names)
{
    hs_chains *c;
    hs_message message;
    ck_assert_msg(hs_chains_load_netcdf(&c, path, selection, names, &message) == HS_OK, "%s",
                  message.text);
    ck_assert_str_eq(message.text, "");
    return c;
}

static void assert_load_fails(const hs_netcdf_selection *selection, hs_status status,
                              const char *part)
{
    hs_chains *c = (hs_chains *)(void *)path;
    hs_chain_names names;
    hs_message message;
    const hs_status found = hs_chains_load_netcdf(&c, path, selection, &names, &message);
    ck_assert_msg(found == status, "%s, expected %s: %s", hs_status_text(found),
                  hs_status_text(status), message.text);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_msg(strstr(message.text, path), "\"%s\" does not name the file", message.text);
    ck_assert_ptr_null(c);
    ck_assert_uint_eq(names.count, 0);
}

static void assert_array(const void *a, const void *b, size_t bytes)
{
    ck_assert_int_eq(a == NULL, b == NULL);
    if (a)
        ck_assert_mem_eq(a, b, bytes);
}

static void assert_same(const hs_chains *a, const hs_chains *b)
{
    ck_assert_uint_eq(a->chains, b->chains);
    ck_assert_uint_eq(a->draws, b->draws);
    ck_assert_uint_eq(a->dim, b->dim);
    const size_t rows = a->chains * a->draws, bytes = rows * sizeof(double);
    assert_array(a->x, b->x, bytes * a->dim);
    assert_array(a->log_pi, b->log_pi, bytes);
    assert_array(a->alpha, b->alpha, bytes);
    assert_array(a->jump, b->jump, bytes);
    assert_array(a->accepted, b->accepted, rows);
    ck_assert_uint_eq(a->proposals, b->proposals);
    ck_assert_uint_eq(a->gradients, b->gradients);
    ck_assert_uint_eq(a->nonfinite, b->nonfinite);
    ck_assert_double_eq(a->seconds, b->seconds);
}

static size_t read_bytes(unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void write_bytes(const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- Our own files --------------------------------------------------------------------------- */

START_TEST(round_trip)
{
    for (unsigned keep = 0; keep <= HS_KEEP_ALL; keep++) {
        hs_chains *c = new_chains(3, 5 + keep, 1 + keep % 4, keep);
        save(c, NULL);
        hs_chains *d = load(NULL, NULL);
        assert_same(c, d);
        hs_chains_free(c);
        hs_chains_free(d);
    }
    hs_chains *c = new_chains(2, 3, 1, 0);
    c->proposals = c->gradients = c->nonfinite = 0;
    c->seconds = 0;
    save(c, NULL);
    hs_chains *d = load(NULL, NULL);
    assert_same(c, d);
    hs_chains_free(c);
    hs_chains_free(d);
}
END_TEST

START_TEST(large_ones)
{
    hs_chains *c = new_chains(3, 20000, 7, HS_KEEP_ALL);
    save(c, NULL);
    hs_chains *d = load(NULL, NULL);
    assert_same(c, d);
    hs_chains_free(c);
    hs_chains_free(d);
}
END_TEST

START_TEST(named_coordinates)
{
    static const char *const labels[] = { "intercept", "a, \"b\" [1]", "\xce\xb2", "" };
    hs_chains *c = new_chains(2, 5, 4, 0);
    hs_chain_names found;
    save(c, NULL);
    hs_chains *d = load(NULL, &found);
    ck_assert_uint_eq(found.count, 4);
    ck_assert_str_eq(found.name[0], "x[0]");
    ck_assert_str_eq(found.name[3], "x[3]");
    hs_chains_free(d);
    hs_chain_names_free(&found);
    save(c, &(hs_netcdf_options){ .name = "weights", .labels = labels });
    d = load(&(hs_netcdf_selection){ .group = "posterior", .variable = "weights" }, &found);
    assert_same(c, d);
    ck_assert_uint_eq(found.count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(found.name[i], labels[i]);
    hs_chains_free(c);
    hs_chains_free(d);
    hs_chain_names_free(&found);
    ck_assert_uint_eq(found.count, 0);
    hs_chain_names_free(&found);
    hs_chain_names_free(NULL);
}
END_TEST

START_TEST(same_chains_are_the_same_bytes)
{
    static unsigned char first[300000], second[300000];
    hs_chains *c = new_chains(3, 501, 3, HS_KEEP_ALL);
    save(c, &(hs_netcdf_options){ .title = "cross" });
    const size_t n = read_bytes(first, sizeof first);
    ck_assert_uint_gt(n, 3 * 501 * 3 * 8);
    ck_assert_uint_lt(n, sizeof first);
    nanosleep(&(struct timespec){ 1, 100000000 }, NULL); /* for clocks of seconds */
    void *other = hs_alloc(1000003);                     /* for memory that is another */
    memset(other, 0xa5, 1000003);
    hs_free(other);
    save(c, &(hs_netcdf_options){ .title = "cross" });
    ck_assert_uint_eq(read_bytes(second, sizeof second), n);
    ck_assert_mem_eq(first, second, n);
    save(c, &(hs_netcdf_options){ .title = "cross", .created_at = "2026-01-31T12:00:00Z" });
    const size_t dated = read_bytes(second, sizeof second);
    ck_assert(dated != n || memcmp(first, second, n) != 0);
    hs_chains_free(c);
}
END_TEST

/* The layout itself, as another program sees it. */
START_TEST(layout_of_arviz)
{
    hs_chains *c = new_chains(2, 5, 3, HS_KEEP_ALPHA | HS_KEEP_ACCEPTED);
    save(c, NULL);
    int file, group, x, id, rank, dims[3];
    size_t length;
    char text[NC_MAX_NAME + 1] = "";
    double numbers[30];
    long long draw[5];
    ck_assert_int_eq(nc_open(path, NC_NOWRITE, &file), NC_NOERR);
    ck_assert_int_eq(nc_inq_grp_ncid(file, "posterior", &group), NC_NOERR);
    ck_assert_int_eq(nc_inq_varid(group, "x", &x), NC_NOERR);
    ck_assert_int_eq(nc_inq_var(group, x, NULL, NULL, &rank, dims, NULL), NC_NOERR);
    ck_assert_int_eq(rank, 3);
    static const char *const expected[] = { "chain", "draw", "x_dim_0" };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(nc_inq_dim(group, dims[i], text, &length), NC_NOERR);
        ck_assert_str_eq(text, expected[i]);
        ck_assert_uint_eq(length, i == 0 ? 2 : i == 1 ? 5 : 3);
    }
    ck_assert_int_eq(nc_get_var_double(group, x, numbers), NC_NOERR);
    ck_assert_mem_eq(numbers, c->x, sizeof numbers);
    ck_assert_int_eq(nc_inq_varid(group, "draw", &id), NC_NOERR);
    ck_assert_int_eq(nc_get_var_longlong(group, id, draw), NC_NOERR);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(draw[i], i);
    memset(text, 0, sizeof text);
    ck_assert_int_eq(nc_get_att_text(group, NC_GLOBAL, "inference_library", text), NC_NOERR);
    ck_assert_str_eq(text, "hastings");
    ck_assert_int_eq(nc_get_att_text(group, NC_GLOBAL, "created_at", text), NC_ENOTATT);
    ck_assert_int_eq(nc_inq_grp_ncid(file, "sample_stats", &group), NC_NOERR);
    ck_assert_int_eq(nc_inq_varid(group, "acceptance_rate", &id), NC_NOERR);
    ck_assert_int_eq(nc_inq_varid(group, "lp", &id), NC_ENOTVAR);
    ck_assert_int_eq(nc_inq_varid(group, "accepted", &id), NC_NOERR);
    memset(text, 0, sizeof text);
    ck_assert_int_eq(nc_get_att_text(group, id, "dtype", text), NC_NOERR);
    ck_assert_str_eq(text, "bool");
    ck_assert_int_eq(nc_close(file), NC_NOERR);
    hs_chains_free(c);
}
END_TEST

/* ---- Files of others ------------------------------------------------------------------------- */

/* A file with a group, whose dimensions chain, draw and more have these lengths. */
typedef struct {
    int file, group, dimension[4]; /* chain, draw, label, more */
} foreign;

static foreign create(const char *group, size_t chains, size_t draws)
{
    foreign f;
    ck_assert_int_eq(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &f.file), NC_NOERR);
    f.group = f.file;
    if (group)
        ck_assert_int_eq(nc_def_grp(f.file, group, &f.group), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "chain", chains, &f.dimension[0]), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "draw", draws, &f.dimension[1]), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "label", 2, &f.dimension[2]), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "more", 3, &f.dimension[3]), NC_NOERR);
    return f;
}

/* Adds a variable with the numbers first, first + 1, ...; up to 200 of them. */
static void add(const foreign *f, const char *name, nc_type type, int rank, const int *dimensions,
                double first)
{
    int variable;
    double numbers[200];
    for (int i = 0; i < 200; i++)
        numbers[i] = first + i;
    ck_assert_int_eq(nc_def_var(f->group, name, type, rank, dimensions, &variable), NC_NOERR);
    ck_assert_int_eq(nc_put_var_double(f->group, variable, numbers), NC_NOERR);
}

static void close_file(const foreign *f)
{
    ck_assert_int_eq(nc_close(f->file), NC_NOERR);
}

START_TEST(files_of_others)
{
    foreign f = create("posterior", 2, 4);
    const int *d = f.dimension;
    int labels;
    const char *text[2] = { "Choate", "Deerfield" };
    ck_assert_int_eq(nc_def_var(f.group, "label", NC_STRING, 1, &d[2], &labels), NC_NOERR);
    ck_assert_int_eq(nc_put_var_string(f.group, labels, text), NC_NOERR);
    add(&f, "more", NC_INT, 1, &d[3], 5);
    add(&f, "theta", NC_FLOAT, 3, d, 0);
    add(&f, "count", NC_INT, 2, d, 7);
    add(&f, "constant", NC_DOUBLE, 1, &d[2], 7);
    add(&f, "z", NC_DOUBLE, 4, d, 100);
    add(&f, "mu", NC_DOUBLE, 2, d, 50);
    close_file(&f);
    hs_chain_names names;
    hs_chains *c = load(NULL, &names);
    ck_assert_uint_eq(c->chains, 2);
    ck_assert_uint_eq(c->draws, 4);
    ck_assert_uint_eq(c->dim, 2 + 6 + 1);
    ck_assert_uint_eq(names.count, c->dim);
    static const char *const expected[] = {
        "theta[Choate]",   "theta[Deerfield]", "z[Choate, 5]",    "z[Choate, 6]", "z[Choate, 7]",
        "z[Deerfield, 5]", "z[Deerfield, 6]",  "z[Deerfield, 7]", "mu",
    };
    for (size_t i = 0; i < c->dim; i++) {
        ck_assert_str_eq(names.name[i], expected[i]);
        for (size_t row = 0; row < 8; row++) {
            const size_t n = i < 2 ? row * 2 + i : i < 8 ? 100 + row * 6 + i - 2 : 50 + row;
            ck_assert_double_eq(c->x[row * c->dim + i], (double)n);
        }
    }
    ck_assert_ptr_null(c->log_pi);
    ck_assert_uint_eq(c->proposals, 0);
    ck_assert_double_eq(c->seconds, 0);
    hs_chains_free(c);
    hs_chain_names_free(&names);
    c = load(&(hs_netcdf_selection){ .variable = "count" }, &names); /* integers if asked for */
    ck_assert_uint_eq(c->dim, 1);
    ck_assert_double_eq(c->x[7], 14);
    ck_assert_str_eq(names.name[0], "count");
    hs_chains_free(c);
    hs_chain_names_free(&names);
    assert_load_fails(&(hs_netcdf_selection){ .variable = "label" }, HS_EDTYPE, "not of numbers");
    assert_load_fails(&(hs_netcdf_selection){ .variable = "constant" }, HS_ESHAPE,
                      "\"constant\" do not begin with chain and draw");
    assert_load_fails(&(hs_netcdf_selection){ .variable = "tau" }, HS_EFORMAT,
                      "no variable \"tau\"");
    assert_load_fails(&(hs_netcdf_selection){ .group = "prior" }, HS_EFORMAT, "no group \"prior\"");
}
END_TEST

START_TEST(data_sets_without_groups)
{
    foreign f = create(NULL, 2, 4);
    add(&f, "x", NC_DOUBLE, 3, f.dimension, 0);
    close_file(&f);
    hs_chain_names names;
    hs_chains *c = load(NULL, &names);
    ck_assert_uint_eq(c->dim, 2);
    ck_assert_double_eq(c->x[15], 15);
    ck_assert_str_eq(names.name[1], "x[1]"); /* a dimension without labels */
    hs_chains_free(c);
    hs_chain_names_free(&names);
}
END_TEST

START_TEST(statistics_of_others)
{
    foreign f = create("posterior", 2, 4);
    const double time = 2.5, pair[2] = { 1, 2 };
    add(&f, "x", NC_DOUBLE, 2, f.dimension, 0);
    ck_assert_int_eq(nc_put_att_double(f.group, NC_GLOBAL, "sampling_time", NC_DOUBLE, 1, &time),
                     NC_NOERR);
    int d[3];
    ck_assert_int_eq(nc_def_grp(f.file, "sample_stats", &f.group), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "chain", 2, &d[0]), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "draw", 4, &d[1]), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "other", 4, &d[2]), NC_NOERR);
    add(&f, "lp", NC_FLOAT, 2, d, -20);
    add(&f, "acceptance_rate", NC_DOUBLE, 2, d, 0);
    add(&f, "jump", NC_DOUBLE, 2, (int[]){ d[0], d[2] }, 0); /* of something else */
    ck_assert_int_eq(nc_put_att_double(f.group, NC_GLOBAL, "proposals", NC_DOUBLE, 2, pair),
                     NC_NOERR);
    ck_assert_int_eq(nc_put_att_text(f.group, NC_GLOBAL, "gradients", 4, "many"), NC_NOERR);
    close_file(&f);
    hs_chains *c = load(NULL, NULL);
    ck_assert_double_eq(c->log_pi[7], -13);
    ck_assert_double_eq(c->alpha[7], 7);
    ck_assert_ptr_null(c->jump);
    ck_assert_ptr_null(c->accepted);
    ck_assert_uint_eq(c->proposals, 0);
    ck_assert_uint_eq(c->gradients, 0);
    ck_assert_double_eq(c->seconds, 2.5);
    hs_chains_free(c);
}
END_TEST

/* Small files that claim much: 100 variables of 8 MB without draws, and a long label that is part of many names. */
START_TEST(claims_beyond_the_file)
{
    const double zero = 0;
    foreign f = create("posterior", 1, 500000);
    for (int i = 0; i < 100; i++) {
        char name[16];
        int x;
        snprintf(name, sizeof name, "x%d", i);
        ck_assert_int_eq(nc_def_var(f.group, name, NC_DOUBLE, 3, f.dimension, &x), NC_NOERR);
        ck_assert_int_eq(nc_def_var_fill(f.group, x, NC_FILL, &zero), NC_NOERR);
        ck_assert_int_eq(nc_def_var_chunking(f.group, x, NC_CHUNKED, (size_t[]){ 1, 1000, 1 }),
                         NC_NOERR);
    }
    close_file(&f);
    assert_load_fails(NULL, HS_EFORMAT, "which cannot be in a file of");

    static char label[100001];
    const char *labels[] = { label };
    int one, many, axis, x;
    memset(label, 'a', sizeof label - 1);
    f = create("posterior", 1, 1);
    ck_assert_int_eq(nc_def_dim(f.group, "one", 1, &one), NC_NOERR);
    ck_assert_int_eq(nc_def_dim(f.group, "many", 20000, &many), NC_NOERR);
    ck_assert_int_eq(nc_def_var(f.group, "one", NC_STRING, 1, &one, &axis), NC_NOERR);
    ck_assert_int_eq(nc_put_var_string(f.group, axis, labels), NC_NOERR);
    const int axes[] = { f.dimension[0], f.dimension[1], one, many };
    ck_assert_int_eq(nc_def_var(f.group, "x", NC_DOUBLE, 4, axes, &x), NC_NOERR);
    ck_assert_int_eq(nc_def_var_fill(f.group, x, NC_FILL, &zero), NC_NOERR);
    close_file(&f);
    assert_load_fails(NULL, HS_EFORMAT, "with names of coordinates it claims");
}
END_TEST

START_TEST(wrong_files_of_others)
{
    foreign f = create("prior", 2, 4);
    close_file(&f);
    assert_load_fails(NULL, HS_EFORMAT, "no group \"posterior\"");
    f = create("posterior", 2, 4);
    add(&f, "x", NC_DOUBLE, 2, (int[]){ f.dimension[1], f.dimension[0] }, 0);
    close_file(&f);
    assert_load_fails(NULL, HS_EFORMAT, "no variable of its 1 is floating-point");
    f = create("posterior", 2, NC_UNLIMITED);
    int x;
    ck_assert_int_eq(nc_def_var(f.group, "x", NC_DOUBLE, 2, f.dimension, &x), NC_NOERR);
    close_file(&f);
    assert_load_fails(NULL, HS_ESHAPE, "\"x\" has no draws: axis 1 is empty");
    f = create("posterior", 1000, 1000000);
    ck_assert_int_eq(nc_def_var(f.group, "x", NC_DOUBLE, 3, f.dimension, &x), NC_NOERR);
    ck_assert_int_eq(nc_def_var_chunking(f.group, x, NC_CHUNKED, (size_t[]){ 1, 1, 1 }), NC_NOERR);
    close_file(&f);
    assert_load_fails(NULL, HS_EFORMAT, "with x it claims 16 GB, which cannot be in a file of");
    f = create("posterior", 2, 4);
    int many[20];
    for (int i = 0; i < 20; i++)
        many[i] = f.dimension[i < 2 ? i : 2];
    int one;
    ck_assert_int_eq(nc_def_dim(f.group, "one", 1, &one), NC_NOERR);
    for (int i = 2; i < 20; i++)
        many[i] = one;
    add(&f, "x", NC_DOUBLE, 20, many, 0);
    close_file(&f);
    assert_load_fails(NULL, HS_ESHAPE, "\"x\" has 20 axes");
}
END_TEST

/* ---- Damage ---------------------------------------------------------------------------------- */

START_TEST(damaged_files)
{
    assert_load_fails(NULL, HS_EIO, "No such file");
    write_bytes("", 0);
    assert_load_fails(NULL, HS_EFORMAT, "not a NetCDF file");
    write_bytes("name,value\n1,2\n", 15);
    assert_load_fails(NULL, HS_EFORMAT, "not a NetCDF file");
    hs_chains *c = new_chains(2, 3, 2, HS_KEEP_ALL), *d;
    save(c, NULL);
    static unsigned char bytes[100000];
    const size_t n = read_bytes(bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut += cut < 200 ? 7 : 997) {
        write_bytes(bytes, cut);
        if (hs_chains_load_netcdf(&d, path, NULL, NULL, NULL) == HS_OK) {
            ck_assert_uint_gt(cut, 10000); /* blanks at the end were cut */
            assert_same(c, d);
            hs_chains_free(d);
        } else {
            assert_load_fails(NULL, HS_EFORMAT, "damaged, or not a NetCDF file");
        }
    }
    hs_chains_free(c);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    assert_load_fails(NULL, HS_EIO, "not a regular file");
    rmdir(path);
}
END_TEST

/* Where a block of bytes begins in a file of n bytes. */
static size_t find_bytes(const unsigned char *file, size_t n, const void *bytes, size_t length)
{
    for (size_t at = 0; at + length <= n; at++)
        if (memcmp(file + at, bytes, length) == 0)
            return at;
    ck_abort_msg("the numbers are not in the file as they are in memory");
}

/* Any wrong bit in the numbers of any variable is found. */
START_TEST(flipped_bits)
{
    static unsigned char bytes[200000];
    hs_chains *c = new_chains(2, 40, 3, HS_KEEP_ALL);
    save(c, NULL);
    const size_t n = read_bytes(bytes, sizeof bytes), rows = 2 * 40;
    const struct {
        const void *numbers;
        size_t length;
        const char *says;
    } variable[] = {
        { c->x, rows * 3 * sizeof(double), "damaged: the bytes of x are not those" },
        { c->log_pi, rows * sizeof(double), "damaged: the bytes of sample_stats" },
        { c->alpha, rows * sizeof(double), "damaged: the bytes of sample_stats" },
        { c->jump, rows * sizeof(double), "damaged: the bytes of sample_stats" },
        { c->accepted, rows, "damaged: the bytes of sample_stats" },
    };
    for (size_t k = 0; k < sizeof variable / sizeof *variable; k++) {
        const size_t length = variable[k].length;
        const size_t first = find_bytes(bytes, n, variable[k].numbers, length);
        for (size_t i = 0; i < length; i += 1 + length / 50) {
            bytes[first + i] ^= (unsigned char)(1u << i % 8);
            write_bytes(bytes, n);
            assert_load_fails(NULL, HS_EFORMAT, variable[k].says);
            bytes[first + i] ^= (unsigned char)(1u << i % 8);
        }
    }
    write_bytes(bytes, n);
    hs_chains *d = load(NULL, NULL);
    assert_same(c, d);
    hs_chains_free(c);
    hs_chains_free(d);
}
END_TEST

/* A variable that was defined and never written. */
START_TEST(missing_numbers)
{
    foreign f = create("posterior", 2, 4);
    int x;
    ck_assert_int_eq(nc_def_var(f.group, "x", NC_DOUBLE, 2, f.dimension, &x), NC_NOERR);
    close_file(&f);
    assert_load_fails(NULL, HS_EFORMAT, "some numbers of x were never written");
}
END_TEST

START_TEST(full_disk)
{
    hs_message message;
    hs_chains *small = new_chains(1, 4, 1, 0), *large = new_chains(4, 5000, 3, HS_KEEP_ALL);
    save(small, NULL);
    fill_disk_after(300000);
    const hs_status status = hs_chains_save_netcdf(large, NULL, path, &message);
    empty_disk();
    ck_assert_int_eq(status, HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "File too large"));
    hs_chains *c = load(NULL, NULL); /* the old file stays */
    assert_same(small, c);
    hs_chains_free(c);
    save(large, NULL);
    c = load(NULL, NULL);
    assert_same(large, c);
    hs_chains_free(c);
    hs_chains_free(small);
    hs_chains_free(large);
}
END_TEST

START_TEST(wrong_arguments)
{
    hs_message message;
    hs_chains *c = new_chains(2, 4, 2, 0);
    hs_chains *d = c;
    static const char *const missing[] = { "a", NULL };
    static const struct {
        hs_netcdf_options options;
        const char *says;
    } bad[] = {
        { { .name = "draw" }, "cannot be called \"draw\"" },
        { { .name = "" }, "0 bytes, expected 1 to 200" },
        { { .name = "a/b" }, "does not allow \"a/b\"" },
        { { .labels = missing }, "label 1 of 2 is missing" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(hs_chains_save_netcdf(c, &bad[i].options, path, &message), HS_EINVAL);
        ck_assert_msg(strstr(message.text, bad[i].says), "%s", message.text);
    }
    ck_assert_int_eq(hs_chains_save_netcdf(NULL, NULL, path, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_save_netcdf(c, NULL, NULL, NULL), HS_EINVAL);
    ck_assert_int_eq(hs_chains_save_netcdf(&(hs_chains){ .x = c->x }, NULL, path, NULL), HS_EINVAL);
    ck_assert_int_eq(hs_chains_save_netcdf(c, NULL, "/nowhere/draws.nc", &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "No such file or directory"));
    ck_assert_int_eq(hs_chains_save_netcdf(c, NULL, "/dev/null", &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "not a regular file"));
    ck_assert_int_eq(hs_chains_load_netcdf(NULL, path, NULL, NULL, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_load_netcdf(&d, NULL, NULL, NULL, NULL), HS_EINVAL);
    ck_assert_ptr_null(d);
    hs_chains_free(c);
}
END_TEST

START_TEST(scarce_memory)
{
    static const char *const labels[] = { "a", "b", "c" };
    hs_message message;
    hs_chains *c = new_chains(2, 4, 3, HS_KEEP_ALL);
    const hs_netcdf_options options = { .labels = labels };
    hs_set_allocator(&counting);
    hs_status status = HS_ENOMEM;
    for (fail_at = 1; status != HS_OK; fail_at++) {
        allocations = 0;
        status = hs_chains_save_netcdf(c, &options, path, &message);
        ck_assert(status == HS_OK || status == HS_ENOMEM);
        ck_assert_int_eq(living, 0);
        ck_assert_int_lt(fail_at, 100);
    }
    ck_assert_int_gt(fail_at, 4);
    status = HS_ENOMEM;
    for (fail_at = 1; status != HS_OK; fail_at++) {
        hs_chains *d;
        hs_chain_names names;
        allocations = 0;
        status = hs_chains_load_netcdf(&d, path, NULL, &names, &message);
        ck_assert(status == HS_OK || status == HS_ENOMEM);
        ck_assert_msg(status == HS_OK || strstr(message.text, "out of memory"), "%s", message.text);
        ck_assert_int_eq(d == NULL, status != HS_OK);
        hs_chains_free(d);
        hs_chain_names_free(&names);
        ck_assert_int_eq(living, 0);
        ck_assert_int_lt(fail_at, 100);
    }
    ck_assert_int_gt(fail_at, 8);
    hs_set_allocator(NULL);
    hs_chains_free(c);
}
END_TEST

/* One thread's part: a file of its own, read again and again. Returns what went wrong. */
static int read_often(int thread)
{
    enum { ROUNDS = 100, NUMBERS = 300 };
    char own[80];
    hs_chains *c, *d;
    snprintf(own, sizeof own, "%s.%d", path, thread);
    if (hs_chains_new(&c, 2, 50, 3, HS_KEEP_LOG_PI, NULL) != HS_OK)
        return 1;
    for (int i = 0; i < NUMBERS; i++)
        c->x[i] = thread * 1000 + i;
    int wrong = hs_chains_save_netcdf(c, NULL, own, NULL) != HS_OK;
    for (int k = 0; k < ROUNDS; k++) {
        hs_chain_names names;
        if (hs_chains_load_netcdf(&d, own, NULL, &names, NULL) != HS_OK ||
            memcmp(c->x, d->x, NUMBERS * sizeof *c->x) != 0)
            wrong++;
        hs_chains_free(d);
        hs_chain_names_free(&names);
    }
    unlink(own);
    hs_chains_free(c);
    return wrong;
}

START_TEST(threads)
{
    enum { THREADS = 4 };
    int wrong = 0;
#pragma omp parallel for num_threads(THREADS) reduction(+ : wrong)
    for (int t = 0; t < THREADS; t++)
        wrong += read_often(t);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

static void *load_once(void *done)
{
    hs_chains *c = NULL;
    if (hs_chains_load_netcdf(&c, path, NULL, NULL, NULL) == HS_OK)
        atomic_store((atomic_int *)done, 1);
    hs_chains_free(c);
    return NULL;
}

START_TEST(one_thread_at_a_time)
{
    hs_chains *c = new_chains(1, 4, 1, 0);
    save(c, NULL);
    hs_chains_free(c);
    pthread_t other;
    atomic_int done = 0;
    hs__netcdf_lock();
    ck_assert_int_eq(pthread_create(&other, NULL, load_once, &done), 0);
    nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
    ck_assert_int_eq(atomic_load(&done), 0); /* it waits */
    hs__netcdf_unlock();
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_int_eq(atomic_load(&done), 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("netcdf");
    TCase *c = tcase_create("netcdf");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_add_test(c, round_trip);
    tcase_add_test(c, large_ones);
    tcase_add_test(c, named_coordinates);
    tcase_add_test(c, same_chains_are_the_same_bytes);
    tcase_add_test(c, layout_of_arviz);
    tcase_add_test(c, files_of_others);
    tcase_add_test(c, data_sets_without_groups);
    tcase_add_test(c, statistics_of_others);
    tcase_add_test(c, claims_beyond_the_file);
    tcase_add_test(c, wrong_files_of_others);
    tcase_add_test(c, damaged_files);
    tcase_add_test(c, flipped_bits);
    tcase_add_test(c, missing_numbers);
    tcase_add_test(c, full_disk);
    tcase_add_test(c, wrong_arguments);
    tcase_add_test(c, scarce_memory);
    tcase_add_test(c, threads);
    tcase_add_test(c, one_thread_at_a_time);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
