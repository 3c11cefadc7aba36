/* Teaches a network y = sin(3 x) on [-1, 1]. */
#include <hastings.h>
#include <stdio.h>

int main(void)
{
    hs_params *params = hs_params_new(HS_F32, 1);
    hs_mlp net = hs_mlp_new(params, &(hs_mlp_options){
        .in = 1, .out = 1, .width = 32, .depth = 2, .activation = HS_TANH });

    /* The loss is written for one point; every run draws a batch of new ones. */
    hs_tape *tape = hs_tape_new(HS_F32);
    hs_var x = hs_shift(hs_scale(hs_uniform(tape, HS_ROW, hs_dims(1), 0), 2), -1);
    hs_var y = hs_sin(hs_scale(x, 3));
    hs_var loss = hs_mean_rows(hs_sum_last(hs_square(hs_sub(hs_mlp_apply(&net, x), y))));

    /* The plan computes the loss and its gradients, the optimiser follows them. */
    hs_plan *plan;
    hs_message message = { "" };
    hs_status status = hs_params_plan(&plan, loss, params, NULL, 0,
                                      &(hs_plan_options){ .starts = 256, .message = &message });
    hs_optimizer *adam = hs_optimizer_new(params, &(hs_optimizer_options){
        "adam", .rate = 1e-2, .schedule = { HS_COSINE, .steps = 1000 } });
    for (uint64_t step = 0; !status && step <= 1000; step++) {
        status = hs_plan_run(plan, &(hs_run){ .seed = 1, .step = step });
        if (!status && step % 200 == 0)
            printf("step %4d  loss %.2e\n", (int)step, hs_plan_scalar(plan, loss));
        if (!status)
            status = hs_optimizer_step(adam);
    }
    if (status)
        fprintf(stderr, "%s: %s\n", hs_status_text(status), message.text);

    hs_optimizer_free(adam);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(params);
    return status != HS_OK;
}
