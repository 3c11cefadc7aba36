/* Learns a proposal for four modes in a cross, and samples with it: ./run example cross [steps] */
#include <hastings.h>
#include <stdio.h>
#include <stdlib.h>

static bool show(const hs_progress *p, void *context)
{
    (void)context;
    fprintf(stderr, "\r%s %5.1f%%  loss %6.3f  acceptance %.2f ", p->what,
            100 * (double)p->step / (double)p->steps, p->loss, p->alpha);
    return true;
}

int main(int argc, char **argv)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1, .float32 = true });
    hs_target *target = hs_target_cross(s, NULL);
    hs_proposal *proposal = hs_multi_scheme(s, &(hs_multi_scheme_options){
        .dim = 2, .couplings = 8, .coupling_width = 6, .coupling_depth = 3,
        .width = 16, .depth = 4 });

    hs_train(s, target, proposal, &(hs_train_options){
        .objective = hs_ab_initio(0.18125), .starts = 8, .proposals = 100,
        .steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000, .progress = show }, NULL);
    fprintf(stderr, "\n");

    hs_chains *chains = hs_sample(s, target, proposal, &(hs_sample_options){
        .chains = 5, .draws = 1000 });
    hs_message message = { "" };
    hs_report report;
    if (chains && !hs_diagnose(chains, NULL, &report, &message)) {
        hs_report_print(stdout, &report);
        hs_report_free(&report);
    }

    const bool failed = hs_session_status(s) != HS_OK || message.text[0];
    if (failed)
        fprintf(stderr, "%s%s\n", hs_session_error(s), message.text);
    hs_session_free(s); /* and all that was made from it */
    return failed;
}
