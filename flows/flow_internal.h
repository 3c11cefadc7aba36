/* What the flows of this folder share: the object itself, and how it is made. */
#ifndef HASTINGS_FLOWS_FLOW_INTERNAL_H
#define HASTINGS_FLOWS_FLOW_INTERNAL_H

#include <hastings/flows/flow.h>

/* As hs_flow_map, with the place that nodes are recorded for; log_det is NULL if nobody wants it.
 */
typedef hs_var (*flow_map)(void *self, hs_var x, hs_var *log_det, const char *at);

typedef struct {
    flow_map direction[2]; /* forward, inverse */
    void (*release)(void *self);
} flow_kind;

struct hs_flow {
    char name[HS_NAME_LENGTH + 1]; /* cut if it is longer */
    size_t dim;
    hs_params *store;
    const flow_kind *kind;
    void *self; /* complete if the store has no error */
    bool preserves_volume;
};

/* A flow that owns self. A NULL self is no memory, which the store is told; no store, or none for
 * the flow itself, releases self and returns NULL. */
hs_flow *hs__flow_make(hs_params *ps, const flow_kind *kind, const char *name, size_t dim,
                       void *self);

/* Makes the store fail if dim is 0; the name is for the message. */
void hs__flow_check_dim(hs_params *ps, const char *name, size_t dim);

/* Longer than any name: one that is too long stays too long, and hs_params_add() says so. */
enum { FLOW_NAME_BUFFER = 2 * HS_NAME_LENGTH };

/* `given`, or if it is NULL the first of stem, stem2, stem3 ... of which the store has no parameter
 * "name.something" yet. */
const char *hs__flow_name(hs_params *ps, const char *given, const char *stem,
                          char buffer[FLOW_NAME_BUFFER]);

#endif
