/* A target, a proposal and an objective of one's own: ./run example own [steps] */
#include <hastings.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The target: a ring of radius 3. Its score, and whatever else is needed, follows from this. */
static hs_var ring(void *self, hs_var x)
{
    (void)self;
    hs_var radius = hs_sqrt(hs_sum_last(hs_square(x)));
    return hs_scale(hs_square(hs_shift(radius, -3)), -8);
}

/* The proposal: a random walk whose scale is a network of where it stands, y = x + s(x) n. */
static hs_var scale(void *net, hs_var x)
{
    return hs_exp(hs_mlp_apply((const hs_mlp *)net, x));
}

static hs_var draw(void *net, hs_var x, hs_var n)
{
    return hs_add(x, hs_mul(scale(net, x), n));
}

static hs_var log_density(void *net, hs_var y, hs_var x)
{
    hs_var s = scale(net, x), z = hs_div(hs_sub(y, x), s);
    return hs_sub(hs_log_normal(z), hs_sum_last(hs_log(s)));
}

/* The objective: expected jump, but of its square root, so that rare long jumps count less. */
static hs_var root_jump(const hs_transition *t, const hs_objective *o)
{
    hs_var jump = hs_power(hs_shift(hs_transition_jump(t), 1e-6), o->number[0]);
    return hs_neg(hs_mul(hs_exp(t->log_alpha), jump));
}

int main(int argc, char **argv)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    hs_target *target = hs_target_new(s, &(hs_target_spec){
        .name = "ring", .dim = 2, .log_density = ring });
    hs_params *params = hs_session_params(s, 0);
    hs_mlp net = hs_mlp_new(params, &(hs_mlp_options){
        .name = "scale", .in = 2, .out = 2, .width = 16, .depth = 2, .zero_output = true });
    hs_proposal *proposal = hs_proposal_new(s, &(hs_proposal_spec){
        .name = "scaled-walk", .dim = 2, .self = &net, .params = params,
        .draw = draw, .log_density = log_density });

    /* The target cannot be drawn from: chains start on the ring, and train as they go. */
    double points[16];
    for (int i = 0; i < 8; i++) {
        points[2 * i] = 3 * cos(i);
        points[2 * i + 1] = 3 * sin(i);
    }
    hs_training training;
    hs_train(s, target, proposal, &(hs_train_options){
        .objective = { .name = "root-jump", .loss = root_jump, .number = { 0.5 } },
        .points = points, .n_points = 8, .online = true, .proposals = 20,
        .steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000 }, &training);
    hs_chains *chains = hs_sample(s, target, proposal, &(hs_sample_options){
        .chains = 8, .draws = 5000, .points = points, .n_points = 8 });
    hs_report report;
    if (chains && !hs_diagnose(chains, NULL, &report, NULL)) {
        printf("mean jump before %.3f, after %.3f\n", -training.curve_loss[0], -training.loss);
        hs_report_print(stdout, &report);
        hs_report_free(&report);
    }
    const bool failed = hs_session_status(s) != HS_OK;
    if (failed)
        fprintf(stderr, "%s\n", hs_session_error(s));
    hs_session_free(s);
    return failed;
}
