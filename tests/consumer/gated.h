#ifndef GATED_H
#define GATED_H

#include <hastings.h>

/** A layer with a gate: y = (W x + b) sigmoid(V x + c), elementwise. */
typedef struct {
    hs_linear value, gate;
} gated_layer;

/** Adds a layer's parameters, name.value.weight and so on, to a store. */
gated_layer gated_new(hs_params *ps, const char *name, size_t in, size_t out);

/** The layer of a vector [in]: a vector [out]. */
hs_var gated_apply_at(const gated_layer *layer, hs_var x, const char *at);
#define gated_apply(...) gated_apply_at(__VA_ARGS__, HS_HERE)

#endif
