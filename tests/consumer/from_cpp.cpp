// The library from C++: a gradient, and a proposal that is trained.
#include <hastings.h>

#include <cmath>
#include <cstdio>
#include <vector>

static bool gradient()
{
    const std::vector<double> x = { 1, -2, 3 };
    hs_tape *tape = hs_tape_new(HS_F64);
    const hs_var input = hs_input(tape, "x", HS_SHARED, hs_dims(3));
    const hs_var sum = hs_sum_last(hs_square(input));
    hs_var slope;
    hs_grad(sum, &input, 1, &slope);
    hs_plan *plan = nullptr;
    bool good = hs_plan_new(&plan, &slope, 1, nullptr) == HS_OK;
    hs_plan_set(plan, input, x.data());
    const hs_run run = {};
    good = good && hs_plan_run(plan, &run) == HS_OK;
    for (std::size_t i = 0; good && i < x.size(); i++)
        good = static_cast<const double *>(hs_plan_get(plan, slope))[i] == 2 * x[i];
    hs_plan_free(plan);
    hs_tape_free(tape);
    return good;
}

static bool training()
{
    hs_session_options session = {};
    session.seed = 1;
    hs_session *s = hs_session_new(&session);
    hs_walk_options walk = {};
    walk.dim = 2;
    hs_train_options options = {};
    options.objective = hs_ab_initio(0.18125);
    options.steps = 20;
    hs_training result;
    const hs_status status =
        hs_train(s, hs_target_gaussian(s, 2, nullptr), hs_random_walk(s, &walk), &options, &result);
    if (status)
        std::fprintf(stderr, "%s\n", hs_session_error(s));
    hs_session_free(s);
    return status == HS_OK && std::isfinite(result.loss);
}

int main()
{
    return gradient() && training() ? 0 : 1;
}
