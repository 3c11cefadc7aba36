#include <hastings/nn/linear.h>

#include <stdio.h>
#include <string.h>

#include <hastings/autograd/ops.h>

#undef HS_HERE
#define HS_HERE at

/* Longer than any valid name: hs_params_add() sees that a name is too long, and says so. */
enum { NAME_BUFFER = 2 * HS_NAME_LENGTH };

static hs_param add(hs_params *ps, const char *layer, const char *part, hs_shape shape,
                    hs_init init)
{
    char name[NAME_BUFFER];
    snprintf(name, sizeof name, "%s.%s", layer, part);
    return hs_params_add(ps, name, shape, init);
}

hs_linear hs_linear_new(hs_params *ps, const char *name, size_t in, size_t out,
                        const hs_linear_options *options)
{
    const hs_linear_options given = options ? *options : (hs_linear_options){ 0 };
    hs_linear layer = { .bias = { ps, -1 }, .has_bias = !given.no_bias };
    if (!name)
        name = "linear";
    layer.weight = add(ps, name, "weight", hs_dims(out, in), given.weight);
    if (given.no_bias)
        return layer;
    hs_init bias = given.bias;
    if (bias.kind == HS_INIT_DEFAULT) {
        if (given.weight.kind == HS_INIT_DEFAULT)
            bias.factor = given.weight.factor;
        else
            bias = hs_init_zero();
    }
    if (!bias.fan_in)
        bias.fan_in = in;
    layer.bias = add(ps, name, "bias", hs_dims(out), bias);
    return layer;
}

hs_var hs_linear_apply_at(const hs_linear *layer, hs_var x, const char *at)
{
    hs_var weight = hs_param_var(x.tape, layer->weight);
    if (!hs_var_ok(weight) || !hs_var_ok(x))
        return hs_matmul(weight, x); /* poison, or an error of its own */
    const hs_shape shape = hs_var_shape(x);
    const hs_shape expected = hs_dims(hs_param_shape(layer->weight).dim[1]);
    if (!hs_shape_equal(&shape, &expected)) {
        char wanted[HS_SHAPE_TEXT], given[HS_SHAPE_TEXT];
        const char *name = hs_param_name(layer->weight);
        const int length = (int)(strlen(name) - strlen(".weight"));
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "linear layer \"%.*s\" takes a vector %s, but was given %s", length,
                            name, hs_shape_text(&expected, wanted), hs_shape_text(&shape, given));
    }
    hs_var y = hs_matmul(weight, x);
    return layer->has_bias ? hs_add(y, hs_param_var(x.tape, layer->bias)) : y;
}
