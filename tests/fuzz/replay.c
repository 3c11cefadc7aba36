/* Replays the files of folders without a fuzzer: fuzz_HARNESS FOLDER... A folder that is not there has no files. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

/* Reads a file, and gives it to the harness in a block of just its size, so that sanitizers see its end. */
static void replay(const char *path)
{
    printf("%s\n", path);
    fflush(stdout);
    FILE *f = fopen(path, "rb");
    fuzz_check(f && fseek(f, 0, SEEK_END) == 0);
    const long length = ftell(f);
    fuzz_check(length >= 0);
    rewind(f);
    uint8_t *bytes = malloc((size_t)length + (length == 0));
    fuzz_check(bytes && fread(bytes, 1, (size_t)length, f) == (size_t)length);
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, (size_t)length);
    free(bytes);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Replays a folder; the number of its files. */
static int replay_folder(const char *path)
{
    struct dirent **found = NULL;
    const int count = scandir(path, &found, is_input, alphasort);
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, found[i]->d_name);
        replay(file);
        if (strncmp(found[i]->d_name, "good-", 5) == 0)
            fuzz_check(fuzz_accepted);
        free(found[i]);
    }
    free(found);
    return count > 0 ? count : 0;
}

int main(int argc, char **argv)
{
    int count = 0;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    fuzz_check(count >= 3); /* there are seeds */
    printf("%d inputs\n", count);
    return 0;
}
