/**
 * Places for new files and folders, under names that nothing has yet.
 *
 *     app_place place;
 *     if (app_place_reserve(&place, "proposals", "cross-mala", ".json", ".hsp"))
 *         ...                           // write place.path and proposals/cross-mala.hsp
 *     app_place_release(&place);
 *
 * A reserved name is an empty file, or a folder, that was not there before: of several programs that choose a name at
 * once, each gets another. The file is locked as long as its owner lives, so the reservation of one that was killed is
 * known, and is taken over.
 */
#ifndef HASTINGS_CLI_COMMANDS_PLACE_H
#define HASTINGS_CLI_COMMANDS_PLACE_H

#include <stdbool.h>

enum { APP_PLACE_PATH = 4096 };

typedef struct {
    char path[APP_PLACE_PATH]; /**< the reserved name; "": none */
    int lock;                  /**< the reservation, open and locked; -1: it is a folder, or none */
} app_place;

/** Reserves the first free one of folder/stem + ending, folder/stem-2 + ending, stem-3 ..., and makes the folder. Without
 *  an ending ("") the name is a folder's. A name is free if folder/stem + beside is not there either; `beside` may be
 *  NULL. False, and errno, if none can be had. */
bool app_place_reserve(app_place *place, const char *folder, const char *stem, const char *ending,
                       const char *beside);

/** Gives the name back if nothing was saved under it. Call it in any case; all zeros are no place. */
void app_place_release(app_place *place);

#endif
