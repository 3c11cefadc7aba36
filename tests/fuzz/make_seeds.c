/* Makes the seeds that are not text: make_seeds FOLDER, which is tests/fuzz/seeds. Names begin with "good-", for all
 * are accepted. */
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <hastings.h>

#include "checkpoint.h"
#include "fuzz.h"

static const char *seeds; /* the folder */

static const char *seed_path(const char *harness, const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", seeds, harness);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/good-%s", seeds, harness, name);
    return path;
}

static hs_chains *make_chains(size_t count, size_t draws, size_t dim, unsigned keep)
{
    hs_chains *c;
    fuzz_check(hs_chains_new(&c, count, draws, dim, keep, NULL) == HS_OK);
    for (size_t i = 0; i < count * draws * dim; i++)
        c->x[i] = (double)(i % 7) - 2.5;
    for (size_t i = 0; i < count * draws; i++) {
        if (c->log_pi)
            c->log_pi[i] = -1.5;
        if (c->alpha)
            c->alpha[i] = 0.25;
        if (c->accepted)
            c->accepted[i] = i % 2;
    }
    c->seconds = 0.125;
    return c;
}

static void make_chain_files(void)
{
    static const char *const names[] = { "mu", "theta[1]", "theta[2]" };
    for (size_t dim = 1; dim <= 3; dim++) {
        char npy[32], netcdf[32], csv[32];
        snprintf(npy, sizeof npy, "%zu.npy", dim);
        snprintf(netcdf, sizeof netcdf, "%zu.nc", dim);
        snprintf(csv, sizeof csv, "%zu.csv", dim);
        hs_chains *c = make_chains(dim, 2, dim, dim > 1 ? HS_KEEP_ALL : 0);
        fuzz_check(hs_chains_save(c, seed_path("npy", npy), NULL) == HS_OK);
        fuzz_check(hs_chains_write(c, names, seed_path("netcdf", netcdf), NULL) == HS_OK);
        hs_chains_free(c);
        c = make_chains(1, dim, dim, dim > 1 ? HS_KEEP_ALL : 0);
        fuzz_check(hs_chains_write(c, names, seed_path("stan_csv", csv), NULL) == HS_OK);
        hs_chains_free(c);
    }
}

static void make_params(void)
{
    static const char *const optimizers[] = { NULL, "adam", "lion" };
    for (int i = 0; i < 3; i++) {
        hs_params *ps = hs_params_new(i == 2 ? HS_F32 : HS_F64, 1);
        hs_params_add(ps, "weight", hs_dims(2, 2), hs_init_normal(1));
        hs_params_add(ps, "b", hs_scalar_shape(), hs_init_zero());
        hs_optimizer *o =
            optimizers[i] ? hs_optimizer_new(ps, &(hs_optimizer_options){ .name = optimizers[i] })
                          : NULL;
        const char *path = seed_path("params", optimizers[i] ? optimizers[i] : "none");
        fuzz_check(hs_params_save(ps, o, path, NULL) == HS_OK);
        hs_optimizer_free(o);
        hs_params_free(ps);
    }
}

/* ---- Inputs of several files: a byte of flags, the length of the first, the first, the others -------------------- */

static size_t read_whole(const char *path, uint8_t *bytes, size_t most)
{
    FILE *f = fopen(path, "rb");
    fuzz_check(f);
    const size_t size = fread(bytes, 1, most, f);
    fclose(f);
    return size;
}

static void write_pair(const char *path, unsigned flags, const uint8_t *first, size_t length,
                       const uint8_t *second, size_t rest)
{
    const uint8_t head[3] = { (uint8_t)flags, (uint8_t)length, (uint8_t)(length >> 8) };
    FILE *f = fopen(path, "wb");
    fuzz_check(f);
    fwrite(head, 1, sizeof head, f);
    fwrite(first, 1, length, f);
    fwrite(second, 1, rest, f);
    fuzz_check(fclose(f) == 0);
}

static void make_checkpoint(uint64_t steps, bool online)
{
    uint8_t first[4096], second[16384];
    char name[64];
    snprintf(name, sizeof name, "state-%llu", (unsigned long long)steps);
    const char *path = fuzz_path(name);
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1, .threads = 1 });
    fuzz_check(checkpoint_train(s, online, path, steps, NULL) == HS_OK);
    hs_session_free(s);
    const size_t length = read_whole(path, first, sizeof first);
    snprintf(name, sizeof name, "state-%llu.%llu", (unsigned long long)steps,
             (unsigned long long)steps);
    const size_t rest = read_whole(fuzz_path(name), second, sizeof second);
    snprintf(name, sizeof name, "%llu-steps", (unsigned long long)steps);
    write_pair(seed_path("checkpoint", name), online, first, length, second, rest);
}

static void make_images(void)
{
    static const uint8_t labels[] = { 0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 2, 0 };
    static const uint8_t images[] = { 0, 0, 8, 3, 0, 0, 0, 4,   0, 0, 0, 1,
                                      0, 0, 0, 2, 0, 9, 7, 255, 3, 4, 1, 2 };
    for (unsigned flags = 0; flags < 8; flags += 3) {
        char name[32];
        snprintf(name, sizeof name, "flags-%u", flags);
        write_pair(seed_path("idx", name), flags, labels, sizeof labels, images, sizeof images);
    }
}

static void make_packed_csv(void)
{
    static const char text[] = "a,\"b, c\",label\n1,2e3,0\n-1, 4.5 ,1\n";
    gzFile f = gzopen(seed_path("dataset_csv", "packed.csv.gz"), "wb9");
    fuzz_check(f && gzputs(f, text) > 0 && gzclose(f) == Z_OK);
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    (void)data;
    return size == 0;
}

int main(int argc, char **argv)
{
    fuzz_check(argc == 2);
    seeds = argv[1];
    LLVMFuzzerInitialize(&argc, &argv);
    make_chain_files();
    make_params();
    make_checkpoint(1, true);
    make_checkpoint(CHECKPOINT_STEPS, false);
    make_checkpoint(300, false);
    make_images();
    make_packed_csv();
    return 0;
}
