#define _XOPEN_SOURCE 700 /* realpath() */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/experiments/inside.h>

static bool goes_up(const char *name)
{
    for (const char *part = name; *part;) {
        const size_t n = strcspn(part, "/");
        if (n == 2 && part[0] == '.' && part[1] == '.')
            return true;
        part += n + (part[n] == '/');
    }
    return false;
}

/* Whether a link leads out of the folder. */
static bool leaves(const char *folder, const char *path)
{
    char *home = realpath(folder, NULL), *place = realpath(path, NULL);
    const size_t n = home ? strlen(home) : 0;
    const bool out = home && place && strcmp(home, "/") != 0 &&
                     (strncmp(place, home, n) != 0 || place[n] != '/');
    free(home);
    free(place);
    return out;
}

hs_status app_file_inside(const char *folder, const char *name, char path[APP_INSIDE_PATH],
                          hs_message *message)
{
    const int n = snprintf(path, APP_INSIDE_PATH, "%s/%s", folder, name);
    const char *wrong = !*name                          ? "is empty"
                        : name[0] == '/'                ? "is absolute"
                        : goes_up(name)                 ? "has \"..\""
                        : n < 0 || n >= APP_INSIDE_PATH ? "is too long"
                        : leaves(folder, path)          ? "leads out of the folder by a link"
                                                        : NULL;
    if (!wrong)
        return HS_OK;
    return hs_message_fail(
        message, HS_EFORMAT,
        "\"%.200s\": expected the name of a file in the folder %.200s, and it %s", name, folder,
        wrong);
}
