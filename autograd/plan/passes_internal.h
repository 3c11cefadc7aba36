/* The functions of passes.def. */
#ifndef HASTINGS_AUTOGRAD_PLAN_PASSES_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_PASSES_INTERNAL_H

#include "plan_internal.h"

/* Returns zeroed memory that is freed when the pass ends; NULL if there is none. */
void *hs__pass_alloc(const hs_plan *plan, size_t count, size_t size);

#define GRAPH_PASS(name, function, optional, doc)                                                  \
    bool function(const hs_plan *plan, plan_graph *graph);
#define SCHEDULE_PASS(name, function, optional, doc)                                               \
    bool function(const hs_plan *plan, plan_schedule *schedule);
#define LAYOUT_PASS(name, function, optional, doc)                                                 \
    bool function(const hs_plan *plan, plan_layout *layout);
#define CODE_PASS(name, function, optional, doc)                                                   \
    bool function(const hs_plan *plan, plan_code *code);
#define CODE_SWITCH(name, doc)
#include "passes.def"

#endif
