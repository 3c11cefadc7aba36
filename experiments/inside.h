/**
 * Names of files within our files. They are relative and stay in the folder of the file that has them, so that a result
 * or a proposal of somebody else's reads nothing but what came with it.
 *
 *     char path[APP_INSIDE_PATH];
 *     if (app_file_inside("results/cross", "chains/a-1.nc", path, &message))
 *         fprintf(stderr, "%s\n", message.text);
 */
#ifndef HASTINGS_EXPERIMENTS_INSIDE_H
#define HASTINGS_EXPERIMENTS_INSIDE_H

#include <hastings/tensor/message.h>

enum { APP_INSIDE_PATH = 4096 };

/** Sets `path` to folder/name. HS_EFORMAT if the name is empty, absolute or too long, has a part "..", or leads out of the
 *  folder through a link. A file that is not there is no error. `message` may be NULL. */
hs_status app_file_inside(const char *folder, const char *name, char path[APP_INSIDE_PATH],
                          hs_message *message) HS_MUST_CHECK;

#endif
