#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hastings/experiments/spec.h>

static bool is_there(char path[4096], const char *home, const char *folder, const char *name)
{
    const int n = snprintf(path, 4096, "%s/%s%s%s", home, folder, *name ? "/" : "", name);
    return n > 0 && n < 4096 && access(path, R_OK) == 0;
}

bool app_find_file(const char *folder, const char *name, char path[4096])
{
    const char *home = getenv("HASTINGS_HOME");
    if (home && *home && is_there(path, home, folder, name))
        return true;
    /* The installed tree can be moved: the place of the program, PREFIX/bin, leads to it. */
    char program[2048];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - sizeof HS_DATA_DIR - 8);
    if (n > 0) {
        program[n] = 0;
        char *slash = strrchr(program, '/');
        if (slash) {
            strcpy(slash, "/../" HS_DATA_DIR);
            if (is_there(path, program, folder, name))
                return true;
        }
    }
    return is_there(path, HS_SOURCE_DIR, folder, name);
}
