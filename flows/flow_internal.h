/* The object behind a flow, and the functions that make it. */
#ifndef HASTINGS_FLOWS_FLOW_INTERNAL_H
#define HASTINGS_FLOWS_FLOW_INTERNAL_H

#include <hastings/flows/flow.h>

typedef struct {
    /* As hs_flow_map, in either direction. Nodes carry the place `at`, and a NULL log_det is not wanted. */
    hs_var (*map)(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at);
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

/* Makes a flow that owns self. A NULL self fails the store with HS_ENOMEM. Without a store, or memory for the flow, it
 * releases self and returns NULL. */
hs_flow *hs__flow_make(hs_params *ps, const flow_kind *kind, const char *name, size_t dim,
                       bool preserves_volume, void *self);

/* Fails the store if dim is 0 or too large; the message has the name. */
void hs__flow_check_dim(hs_params *ps, const char *name, size_t dim);

/* Longer than any valid name: hs_params_add() sees that a name is too long, and says so. */
enum { FLOW_NAME_BUFFER = 2 * HS_NAME_LENGTH };

/* Returns `given`; if it is NULL, the first name of stem, stem2, stem3 ... without a parameter "name.something". */
const char *hs__flow_name(hs_params *ps, const char *given, const char *stem,
                          char buffer[FLOW_NAME_BUFFER]);

#endif
