/* A soak: training, sampling, diagnosing, saving, reading and freeing in a loop, in one process. Resident memory and open
 * descriptors must not grow once the loop is warm.
 *
 *     soak MINUTES [0 SUMMARY.tsv]            or: soak 0 ROUNDS */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hastings.h>

/* libnetcdf 4.9.0 keeps some memory for each file that it has read, until the process ends: 2 KiB if it reads alone
 * (nc_open() and nc_close() of one file in a loop show it), and up to 36 KiB among others. So only one round of many
 * reads such a file, and each may cost NETCDF_KIB. */
enum { WARM = 30, SAMPLES = 4096, ROUNDS_A_NETCDF = 64, NETCDF_KIB = 40 };
#define NOISE_MIB 2 /* of an allocator, between the quarters after the warm-up */

static double resident_mib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1)
        pages = -1;
    if (f)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static int descriptors(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count;
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "soak: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(hs_status status, const char *what, const hs_message *message)
{
    if (status)
        fail(what, *message->text ? message->text : hs_status_text(status));
}

/* Draws, to a file of each kind and back. */
static void write_and_read(const hs_chains *c, const char *folder, bool netcdf)
{
    char path[512];
    hs_message message = { "" };
    for (size_t i = 0; hs_chain_format_at(i); i++) {
        const hs_chain_format *format = hs_chain_format_at(i);
        if (!format->built || (!netcdf && !strcmp(format->ending, ".nc")))
            continue;
        const char *files[8] = { path };
        char one[8][512];
        size_t count = format->a_chain ? c->chains : 1;
        snprintf(path, sizeof path, "%s/draws%s", folder, format->ending);
        check(hs_chains_write(c, NULL, path, &message), path, &message);
        for (size_t k = 0; k < count && format->a_chain; k++) {
            snprintf(one[k], sizeof one[k], "%s/draws_%zu%s", folder, k + 1, format->ending);
            files[k] = one[k];
        }
        hs_chains *back;
        hs_chain_names names;
        check(hs_chains_read(&back, &names, files, count, &message), path, &message);
        if (back->draws != c->draws)
            fail(path, "other draws came back");
        hs_chain_names_free(&names);
        hs_chains_free(back);
        for (size_t k = 0; k < count; k++)
            unlink(files[k]);
        /* And a reading that fails half-way. */
        FILE *f = fopen(path, "wb");
        if (f) {
            fputs(format->ending, f);
            fclose(f);
        }
        if (hs_chains_read(&back, &names, (const char *const[]){ path }, 1, &message) == HS_OK)
            fail(path, "nonsense was read");
        unlink(path);
    }
}

static void once(uint64_t seed, const char *folder)
{
    char path[512];
    hs_message message = { "" };
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = seed + 1, .float32 = seed % 2 });
    hs_target *target = hs_target_cross(s, NULL);
    hs_proposal *p = hs_multi_scheme(
        s, &(hs_multi_scheme_options){ .dim = 2, .couplings = 2, .width = 4, .depth = 2 });
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    hs_train(s, target, p,
             &(hs_train_options){ .objective = hs_ab_initio(0.18125),
                                  .starts = 2,
                                  .proposals = 10,
                                  .steps = 20,
                                  .checkpoint = path,
                                  .checkpoint_every = 10 },
             NULL);
    snprintf(path, sizeof path, "%s/parameters.hsp", folder);
    if (!hs_session_status(s)) {
        check(hs_params_save(hs_proposal_params(p), NULL, path, &message), path, &message);
        check(hs_params_load(hs_proposal_params(p), NULL, path, &message), path, &message);
    }
    hs_chains *c = hs_sample(s, target, p, &(hs_sample_options){ .chains = 2, .draws = 50 });
    hs_report report;
    if (c) {
        check(hs_diagnose(c, NULL, &report, &message), "diagnosis", &message);
        hs_report_free(&report);
        write_and_read(c, folder, seed % ROUNDS_A_NETCDF == 0);
    }
    if (hs_session_status(s))
        fail("session", hs_session_error(s));
    hs_session_free(s);
}

static void empty(const char *folder)
{
    char path[1024];
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? 60 * strtod(argv[1], NULL) : 3600;
    const uint64_t iterations = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    static double memory[SAMPLES];
    static int files[SAMPLES];
    char folder[] = "/tmp/hastings_soak_XXXXXX";
    size_t n = 0;
    uint64_t every = 1;
    if (!mkdtemp(folder))
        fail(folder, "cannot be made");
    const double begin = hs_seconds();
    double said = begin;
    uint64_t i = 0;
    for (; iterations ? i < iterations : hs_seconds() - begin < seconds; i++) {
        once(i, folder);
        empty(folder); /* so that the next training begins anew */
        if (i < WARM || i % every)
            continue;
        if (n == SAMPLES) { /* keep every other one */
            for (size_t k = 0; k < SAMPLES / 2; k++) {
                memory[k] = memory[2 * k];
                files[k] = files[2 * k];
            }
            n = SAMPLES / 2;
            every *= 2;
        }
        memory[n] = resident_mib();
        files[n++] = descriptors();
        if (hs_seconds() - said > 60) {
            said = hs_seconds();
            printf("%6.1f min  %8llu rounds  %7.1f MiB  %d descriptors\n", (said - begin) / 60,
                   (unsigned long long)i + 1, memory[n - 1], files[n - 1]);
            fflush(stdout);
        }
    }
    rmdir(folder);
    if (n < 8)
        fail("soak", "too few rounds to tell");
    /* The least of a quarter: peaks come and go, a leak stays. */
    double least[4];
    for (size_t q = 0; q < 4; q++) {
        least[q] = (double)INFINITY;
        for (size_t k = n * q / 4; k < n * (q + 1) / 4; k++)
            least[q] = fmin(least[q], memory[k]);
    }
    printf("%llu rounds: %.1f, %.1f, %.1f, %.1f MiB at least in the quarters after the warm-up; %d "
           "descriptors, then %d\n",
           (unsigned long long)i, least[0], least[1], least[2], least[3], files[0], files[n - 1]);
    const double allowed = NOISE_MIB + (double)i / ROUNDS_A_NETCDF * NETCDF_KIB / 1024;
    FILE *summary = argc > 3 ? fopen(argv[3], "w") : NULL;
    if (summary) {
        fprintf(summary,
                "rounds\tminutes\tMiB, first quarter\tMiB, last quarter\tdescriptors\n"
                "%llu\t%.0f\t%.1f\t%.1f\t%d\n",
                (unsigned long long)i, (hs_seconds() - begin) / 60, least[0], least[3],
                files[n - 1]);
        fclose(summary);
    }
    if (files[n - 1] != files[0])
        fail("descriptors", "their number has changed");
    if (least[3] > least[0] + allowed)
        fail("memory", "it grows");
    return EXIT_SUCCESS;
}
