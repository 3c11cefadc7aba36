/* Trains a network with a layer of its own, and looks at a message of a mistake. */
#include <string.h>

#include "gated.h"

int main(void)
{
    hs_params *params = hs_params_new(HS_F64, 1);
    const gated_layer hidden = gated_new(params, "hidden", 2, 16);
    const hs_linear output = hs_linear_new(params, "output", 16, 1, NULL);

    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_normal(tape, HS_ROW, hs_dims(2), 0);
    hs_var y = hs_linear_apply(&output, gated_apply(&hidden, x));
    hs_var product = hs_mul(hs_slice(x, 0, 0, 1), hs_slice(x, 0, 1, 2));
    hs_var loss = hs_mean_rows(hs_sum_last(hs_square(hs_sub(y, product))));

    hs_plan *plan;
    hs_status status =
        hs_params_plan(&plan, loss, params, NULL, 0, &(hs_plan_options){ .starts = 128 });
    hs_optimizer *adam = hs_optimizer_new(params, &(hs_optimizer_options){ .rate = 1e-2 });
    double first = 0, last = 0;
    for (uint64_t step = 0; !status && step < 300; step++) {
        status = hs_plan_run(plan, &(hs_run){ .seed = 1, .step = step });
        last = hs_plan_scalar(plan, loss);
        first = step ? first : last;
        if (!status)
            status = hs_optimizer_step(adam);
    }
    printf("loss from %g to %g\n", first, last);
    bool good = !status && last < 0.1 * first;

    gated_apply(&hidden, hs_normal(tape, HS_ROW, hs_dims(3), 1));
    printf("%s\n", hs_tape_error(tape));
    good = good && strstr(hs_tape_error(tape), "main.c:") != NULL;

    hs_optimizer_free(adam);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(params);
    return !good;
}
