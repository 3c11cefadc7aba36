#include <hastings/nn/mlp.h>

#include <stdio.h>

#include <hastings/autograd/ops.h>
#include <hastings/tensor/memory.h>

#undef HS_HERE
#define HS_HERE at

const char *hs_activation_name(hs_activation activation)
{
    static const char *const names[] = {
        "relu", "tanh", "sigmoid", "softplus", "gelu", "identity"
    };
    return (unsigned)activation <= HS_IDENTITY ? names[activation] : "invalid";
}

hs_var hs_activate_at(hs_activation activation, hs_var x, const char *at)
{
    switch (activation) {
    case HS_RELU:
        return hs_relu(x);
    case HS_TANH:
        return hs_tanh(x);
    case HS_SIGMOID:
        return hs_sigmoid(x);
    case HS_SOFTPLUS:
        return hs_softplus(x);
    case HS_GELU:
        return hs_gelu(x);
    case HS_IDENTITY:
        return x;
    }
    return hs_tape_fail(x.tape, HS_EINVAL, at, "there is no activation with number %d",
                        (int)activation);
}

/* Longer than any valid name: hs_params_add() sees that a name is too long, and says so. */
enum { NAME_BUFFER = 2 * HS_NAME_LENGTH };

static const char *free_name(hs_params *ps, char name[NAME_BUFFER])
{
    snprintf(name, NAME_BUFFER, "mlp");
    for (int number = 2;; number++) {
        char first[NAME_BUFFER + 16];
        snprintf(first, sizeof first, "%s.0.weight", name);
        if (hs_params_find(ps, first).index < 0)
            return name;
        snprintf(name, NAME_BUFFER, "mlp%d", number);
    }
}

/* Billions of layers are refused at once, not when the memory is full of them. */
static bool fits_memory(hs_params *ps, const char *name, const hs_mlp_options *o)
{
    const size_t number = hs_dtype_size(hs_params_dtype(ps));
    const size_t layer = hs_size_product(o->width, hs_size_add(o->width, 1), number);
    const size_t bytes = hs_size_product(o->depth ? o->depth - 1 : 0, layer);
    hs_message message;
    if (bytes <= hs_memory_left())
        return true;
    (void)hs_memory_fail(&message, bytes,
                         "out of memory for network \"%.100s\" of width %zu and depth %zu", name,
                         o->width, o->depth);
    hs_params_fail(ps, HS_ENOMEM, "%s", message.text);
    return false;
}

hs_mlp hs_mlp_new(hs_params *ps, const hs_mlp_options *options)
{
    const hs_mlp net = { ps, (int32_t)hs_params_count(ps), options->depth, options->activation };
    if (hs_params_status(ps) != HS_OK)
        return net;
    char buffer[NAME_BUFFER];
    const char *name = options->name ? options->name : free_name(ps, buffer);
    if (!options->in || !options->out || (options->depth && !options->width)) {
        hs_params_fail(ps, HS_ESHAPE,
                       "network \"%s\" has in %zu, out %zu, width %zu, depth %zu: in and out, and "
                       "width unless depth is 0, must be at least 1",
                       name, options->in, options->out, options->width, options->depth);
        return net;
    }
    if (!fits_memory(ps, name, options))
        return net;
    for (size_t i = 0; i <= options->depth && hs_params_status(ps) == HS_OK; i++) {
        const bool output = i == options->depth;
        hs_linear_options layer = { .weight = options->init };
        if (output && options->zero_output)
            layer.weight = hs_init_zero();
        else if (output && options->output_scale != 0)
            layer.weight = hs_init_scaled(options->init, options->output_scale);
        char full[NAME_BUFFER + 32];
        snprintf(full, sizeof full, "%s.%zu", name, i);
        hs_linear_new(ps, full, i ? options->width : options->in,
                      output ? options->out : options->width, &layer);
    }
    return net;
}

hs_linear hs_mlp_layer(const hs_mlp *net, size_t i)
{
    const size_t weight = (size_t)net->first + 2 * i;
    return (hs_linear){ hs_params_at(net->store, weight), hs_params_at(net->store, weight + 1),
                        true };
}

hs_var hs_mlp_apply_at(const hs_mlp *net, hs_var x, const char *at)
{
    for (size_t i = 0; i <= net->depth && (i == 0 || hs_var_ok(x)); i++) {
        const hs_linear layer = hs_mlp_layer(net, i);
        x = hs_linear_apply(&layer, x);
        if (i < net->depth)
            x = hs_activate(net->activation, x);
    }
    return x;
}
