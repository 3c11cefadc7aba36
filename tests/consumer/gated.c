#include "gated.h"

#include <stdio.h>

/* What is recorded here carries the place of the caller, for messages. */
#undef HS_HERE
#define HS_HERE at

gated_layer gated_new(hs_params *ps, const char *name, size_t in, size_t out)
{
    char value[HS_NAME_LENGTH + 1], gate[HS_NAME_LENGTH + 1];
    snprintf(value, sizeof value, "%s.value", name);
    snprintf(gate, sizeof gate, "%s.gate", name);
    return (gated_layer){ hs_linear_new(ps, value, in, out, NULL),
                          hs_linear_new(ps, gate, in, out, NULL) };
}

hs_var gated_apply_at(const gated_layer *layer, hs_var x, const char *at)
{
    return hs_mul(hs_linear_apply(&layer->value, x), hs_sigmoid(hs_linear_apply(&layer->gate, x)));
}
