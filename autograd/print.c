/* Tapes and plans as text, and in Graphviz's language. */
#include "plan/plan_internal.h"

#include <string.h>

/* A node's attributes, such as " axis 1"; "" if it has none. */
static void attributes_text(const tape_node *node, char *text, size_t size)
{
    const op_attributes *a = node->attributes;
    text[0] = '\0';
    if (!a)
        return;
    switch (node->op) {
    case OP_constant:
        snprintf(text, size, " %g", a->number);
        break;
    case OP_count:
        snprintf(text, size, " of %ss", hs_extent_name((hs_extent)a->axis));
        break;
    case OP_normal:
    case OP_uniform:
        snprintf(text, size, " stream %u", (unsigned)a->stream);
        break;
    case OP_matmul:
        snprintf(text, size, "%s%s", a->transpose[0] ? " first transposed" : "",
                 a->transpose[1] ? " second transposed" : "");
        break;
    case OP_slice:
        snprintf(text, size, " axis %d from %zu to %zu", a->axis, a->first, a->end);
        break;
    case OP_pad:
        snprintf(text, size, " axis %d by %zu and %zu", a->axis, a->first, a->end);
        break;
    case OP_max_over:
    case OP_logsumexp:
    case OP_concat:
    case OP_gather:
    case OP_scatter:
        snprintf(text, size, " axis %d", a->axis);
        break;
    case OP_polygamma:
        snprintf(text, size, " order %d", a->order);
        break;
    case OP_call:
    case OP_call_grad:
    case OP_call_hvp:
        snprintf(text, size, " %s", a->function->name ? a->function->name : "");
        break;
    default:
        break;
    }
}

void hs_tape_print(const hs_tape *tape, FILE *out)
{
    if (!tape)
        return;
    for (int32_t id = 0; id < tape->size; id++) {
        const tape_node *node = &tape->node[id];
        char shape[HS_SHAPE_TEXT], more[96];
        attributes_text(node, more, sizeof more);
        fprintf(out, "%%%d = %s%s", (int)id, hs__op_table[node->op].name, more);
        for (int i = 0; i < node->inputs; i++)
            fprintf(out, "%s%%%d", i ? ", " : " ", (int)node->input[i]);
        fprintf(out, " : %s %s", hs_extent_name(node->extent), hs_shape_text(&node->shape, shape));
        if (node->name)
            fprintf(out, "  \"%s\"", node->name);
        fprintf(out, "  # %s\n", node->at);
    }
    if (tape->status != HS_OK)
        fprintf(out, "error: %s\n", tape->error);
}

static void print_escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static const char *extent_colour(hs_extent extent)
{
    static const char *const colours[] = { "#e8e8e8", "#cfe3f7", "#d8f0d0" };
    return colours[extent];
}

static void dot_node(int32_t id, const char *label, const tape_node *node, FILE *out)
{
    char shape[HS_SHAPE_TEXT], more[96];
    attributes_text(node, more, sizeof more);
    fprintf(out, "  n%d [label=\"", (int)id);
    print_escaped(label, out);
    print_escaped(more, out);
    if (node->name) {
        fputs("\\n", out);
        print_escaped(node->name, out);
    }
    fprintf(out, "\\n%s\", fillcolor=\"%s\", tooltip=\"", hs_shape_text(&node->shape, shape),
            extent_colour(node->extent));
    print_escaped(node->at, out);
    fputs("\"];\n", out);
}

static void dot_open(const char *name, FILE *out)
{
    fprintf(out, "digraph %s {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n",
            name);
}

void hs_tape_dot(const hs_tape *tape, FILE *out)
{
    dot_open("tape", out);
    for (int32_t id = 0; tape && id < tape->size; id++) {
        const tape_node *node = &tape->node[id];
        dot_node(id, hs__op_table[node->op].name, node, out);
        for (int i = 0; i < node->inputs; i++)
            fprintf(out, "  n%d -> n%d;\n", (int)node->input[i], (int)id);
    }
    fputs("}\n", out);
}

static const char *const stage_names[STAGE_COUNT] = { "before the batch", "for each shard",
                                                      "after the batch" };

/* The op of a step with its fused parts: "matmul+bias+relu". */
static void step_text(const hs_plan *plan, const plan_step *step, char *text, size_t size)
{
    const plan_node *node = &plan->node[step->node];
    if (step->what && strcmp(step->what, "store") == 0) {
        snprintf(text, size, "store");
        return;
    }
    int used = snprintf(text, size, "%s", step->what);
    const product_tail *t = &step->tail;
    const program *p = step->program;
    if (node->product >= 0) {
        used += snprintf(text + used, size - (size_t)used, "%s%s%s", t->bias >= 0 ? "+bias" : "",
                         t->add >= 0 ? "+add" : "", t->gate >= 0 ? "+gate" : "");
        if (t->left_sum >= 0)
            used += snprintf(text + used, size - (size_t)used, "+sum_to");
        if (t->act != HS_ACT_NONE)
            snprintf(text + used, size - (size_t)used, "+%s", hs__op_table[node->op].name);
    } else if (p && p->steps + p->sum_softplus > (node->op == OP_sum_to ? 0 : 1)) {
        for (int i = 0; i < p->steps + p->sum_softplus && (size_t)used + 12 < size; i++)
            used += snprintf(text + used, size - (size_t)used, "%s%s", i ? " " : ": ",
                             hs__op_table[i < p->steps ? p->step[i].op : OP_softplus].name);
    }
}

static void print_place(place at, FILE *out)
{
    static const char *const names[] = { "shard", "chunk", "shared", "sum", "outside" };
    fprintf(out, "%s", names[at.kind]);
    if (at.kind == IN_SUM || at.kind == IN_OUTSIDE)
        fprintf(out, " %d", (int)at.index);
    if (at.offset || at.kind == IN_SHARD || at.kind == IN_CHUNK || at.kind == IN_SHARED)
        fprintf(out, "+%zu", at.offset);
}

void hs_plan_print(const hs_plan *plan, FILE *out)
{
    if (!plan)
        return;
    fprintf(out,
            "plan: %zu starts x %zu rows in %zu shards of %zu starts, %d bins; %zu bytes a shard\n",
            plan->starts, plan->rows_per_start, plan->shards, plan->shard_starts, plan->bins,
            plan->workspace_bytes);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        if (plan->steps[stage])
            fprintf(out, "%s:\n", stage_names[stage]);
        for (int32_t i = 0; i < plan->steps[stage]; i++) {
            const plan_step *step = &plan->step[stage][i];
            const plan_node *node = &plan->node[step->node];
            char text[200], shape[HS_SHAPE_TEXT];
            step_text(plan, step, text, sizeof text);
            if (step->sweep)
                fprintf(out, "  the next %d together, %zu features at a time:\n",
                        (int)step->sweep->steps,
                        plan->sweep_chunk < plan->sweep_length ? plan->sweep_chunk
                                                               : plan->sweep_length);
            if (step->has_twin)
                fprintf(out, "  the next 2 together, in one reading of their matrix:\n");
            fprintf(out, "  %%%d %s%s : %s %s -> ", (int)node->tape_id, text,
                    step->in_gram ? ", with others" : "", hs_extent_name(node->extent),
                    hs_shape_text(&node->shape, shape));
            if (step->run && strcmp(text, "store") == 0)
                fprintf(out, "output %zu", step->m);
            else
                print_place(step->out, out);
            fprintf(out, "  # %s\n", plan->tape->node[node->tape_id].at);
        }
    }
}

/* Draws edges from the stored nodes that a step reads, through views and fused parts. */
static void dot_edges(const hs_plan *plan, int32_t from, int32_t step, FILE *out)
{
    const plan_node *node = &plan->node[from];
    for (int i = 0; i < node->inputs; i++) {
        const int32_t in = node->input[i];
        const node_making making = plan->node[in].making;
        if (making == BY_VIEW || (making == BY_OTHER && plan->node[in].host == step))
            dot_edges(plan, in, step, out);
        else
            fprintf(out, "  n%d -> n%d;\n", (int)in, (int)step);
    }
}

void hs_plan_dot(const hs_plan *plan, FILE *out)
{
    dot_open("plan", out);
    for (int32_t id = 0; plan && id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        if (!is_unused(node) && (node->making == BY_OUTSIDE || node->making == BY_MERGE))
            dot_node(id, hs__op_table[node->op].name, &plan->tape->node[node->tape_id], out);
        if (!is_unused(node) && node->making == BY_MERGE)
            dot_edges(plan, id, id, out);
    }
    for (int stage = 0; plan && stage < STAGE_COUNT; stage++)
        for (int32_t i = 0; i < plan->steps[stage]; i++) {
            const plan_step *step = &plan->step[stage][i];
            char text[200];
            step_text(plan, step, text, sizeof text);
            if (strcmp(text, "store") == 0)
                continue;
            dot_node(step->node, text, &plan->tape->node[plan->node[step->node].tape_id], out);
            dot_edges(plan, step->node, step->node, out);
        }
    fputs("}\n", out);
}
