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
    if (node->op == OP_constant)
        snprintf(text, size, " %g", a->number);
    else if (node->op == OP_count)
        snprintf(text, size, " of %ss", hs_extent_name((hs_extent)a->axis));
    else if (node->op == OP_normal || node->op == OP_uniform)
        snprintf(text, size, " stream %u", (unsigned)a->stream);
    else if (node->op == OP_matmul)
        snprintf(text, size, "%s%s", a->transpose[0] ? " first transposed" : "",
                 a->transpose[1] ? " second transposed" : "");
    else if (node->op == OP_slice)
        snprintf(text, size, " axis %d from %zu to %zu", a->axis, a->first, a->end);
    else if (node->op == OP_pad)
        snprintf(text, size, " axis %d by %zu and %zu", a->axis, a->first, a->end);
    else if (node->op == OP_polygamma)
        snprintf(text, size, " order %d", a->order);
    else if (a->function)
        snprintf(text, size, " %s", a->function->name ? a->function->name : "");
    else if (node->inputs && node->op != OP_permute)
        snprintf(text, size, " axis %d", a->axis);
}

void hs_tape_print(const hs_tape *tape, FILE *out)
{
    if (!tape)
        return;
    for (int32_t id = 0; id < tape->size; id++) {
        const tape_node *node = &tape->node[id];
        char more[96];
        attributes_text(node, more, sizeof more);
        fprintf(out, "%%%d = %s%s", (int)id, hs__op_table[node->op].name, more);
        for (int i = 0; i < node->inputs; i++)
            fprintf(out, "%s%%%d", i ? ", " : " ", (int)node->input[i]);
        fprintf(out, " : %s %s", hs_extent_name(node->extent), SHAPE_TEXT_OF(&node->shape));
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

static void dot_node(int32_t id, const char *label, const tape_node *node, FILE *out)
{
    static const char *const colours[] = { "#e8e8e8", "#cfe3f7", "#d8f0d0" }; /* by extent */
    char more[96];
    attributes_text(node, more, sizeof more);
    fprintf(out, "  n%d [label=\"", (int)id);
    print_escaped(label, out);
    print_escaped(more, out);
    if (node->name) {
        fputs("\\n", out);
        print_escaped(node->name, out);
    }
    fprintf(out, "\\n%s\", fillcolor=\"%s\", tooltip=\"", SHAPE_TEXT_OF(&node->shape),
            colours[node->extent]);
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

/* The op of a step with its fused parts: "matmul+bias+relu". */
static void step_text(const hs_plan *plan, const plan_step *step, char *text, size_t size)
{
    const op_code op = node_at(plan, step->node)->op;
    const program *p = program_of(step);
    size_t used = (size_t)snprintf(text, size, "%s", hs__op_table[op].name);
    if (step->kind == STEP_STORE) {
        snprintf(text, size, "store");
    } else if (step->kind == STEP_PRODUCT) {
        const product_tail *t = &step->as.product.tail;
        snprintf(text, size, "%s%s%s%s%s%s%s",
                 step->as.product.factor[0] ? "factors of matmul" : "matmul",
                 t->bias >= 0 ? "+bias" : "", t->add >= 0 ? "+add" : "",
                 t->gate >= 0 ? "+gate" : "", t->left_sum >= 0 ? "+sum_to" : "",
                 t->act != HS_ACT_NONE ? "+" : "",
                 t->act != HS_ACT_NONE ? hs__op_table[op].name : "");
    } else {
        const int parts = p ? p->steps + p->sum_softplus : 0;
        for (int i = 0; parts > (op != OP_sum_to) && i < parts && used + 12 < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : ": ",
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

static void print_step(const hs_plan *plan, const plan_step *step, bool joint, FILE *out)
{
    const graph_node *node = node_at(plan, step->node);
    char text[200];
    step_text(plan, step, text, sizeof text);
    fprintf(out, "  %%%d %s%s : %s %s -> ", (int)node->tape_id, text, joint ? ", with others" : "",
            hs_extent_name(node->extent), SHAPE_TEXT_OF(&node->shape));
    if (step->kind == STEP_STORE)
        fprintf(out, "output %zu", step->as.output);
    else
        print_place(step->out, out);
    fprintf(out, "  # %s\n", plan->request->tape->node[node->tape_id].at);
}

static void print_stage(const hs_plan *plan, plan_stage stage, FILE *out)
{
    const size_t chunk = plan->layout->loop_chunk, length = plan->schedule->loop_length;
    const plan_loop *loop = NULL;
    int32_t first = 0;
    for (int32_t i = 0; i < plan->code->steps[stage]; i++) {
        const plan_step *step = &plan->code->step[stage][i];
        if (step->loop) {
            loop = step->loop;
            first = i;
            fprintf(out, "  the next %d together, %zu features at a time:\n", (int)loop->steps,
                    chunk < length ? chunk : length);
        }
        if (step->paired)
            fprintf(out, "  the next 2 together, in one reading of their matrix:\n");
        const bool in_loop = loop && i < first + loop->steps;
        print_step(plan, step, in_loop && loop->part[i - first].joint, out);
    }
}

void hs_plan_print(const hs_plan *plan, FILE *out)
{
    static const char *const names[STAGE_COUNT] = { "before the batch", "for each shard",
                                                    "after the batch" };
    if (!plan)
        return;
    const plan_layout *layout = plan->layout;
    fprintf(out,
            "plan: %zu starts x %zu rows in %zu shards of %zu starts, %d accumulators; %zu bytes a "
            "shard\n",
            plan->request->starts, plan->request->rows_per_start, layout->shards,
            layout->shard_starts, layout->accumulators, plan->memory->workspace_bytes);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        if (plan->code->steps[stage])
            fprintf(out, "%s:\n", names[stage]);
        print_stage(plan, (plan_stage)stage, out);
    }
}

/* Draws edges from the stored nodes that a step reads, through views and fused parts. */
static void dot_edges(const hs_plan *plan, int32_t from, int32_t step, FILE *out)
{
    const graph_node *node = node_at(plan, from);
    for (int i = 0; i < node->inputs; i++) {
        const int32_t in = node->input[i];
        const schedule_node *s = scheduled(plan, in);
        if (s->making == VIEW_OF || (s->making == FUSED_INTO && s->host == step))
            dot_edges(plan, in, step, out);
        else
            fprintf(out, "  n%d -> n%d;\n", (int)in, (int)step);
    }
}

/* A node, and the edges of what computes it. */
static void dot_plan_node(const hs_plan *plan, int32_t id, const char *label, FILE *out)
{
    dot_node(id, label, &plan->request->tape->node[node_at(plan, id)->tape_id], out);
    dot_edges(plan, id, id, out);
}

void hs_plan_dot(const hs_plan *plan, FILE *out)
{
    dot_open("plan", out);
    for (int32_t id = 0; plan && id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const node_making making = scheduled(plan, id)->making;
        if (!is_unused(node) && (making == OUTSIDE || making == ADDED_UP))
            dot_plan_node(plan, id, hs__op_table[node->op].name, out);
    }
    for (int stage = 0; plan && stage < STAGE_COUNT; stage++)
        for (int32_t i = 0; i < plan->code->steps[stage]; i++) {
            const plan_step *step = &plan->code->step[stage][i];
            char text[200];
            step_text(plan, step, text, sizeof text);
            if (step->kind != STEP_STORE)
                dot_plan_node(plan, step->node, text, out);
        }
    fputs("}\n", out);
}
