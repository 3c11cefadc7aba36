/* Making of elementwise groups: one pass over memory for a chain of ops, and for a sum at its end. */
#include "plan_internal.h"

#include <string.h>

/* A program while it is made; its last loop is the innermost one. */
typedef struct {
    const hs_plan *plan;
    const graph_node *space;
    hs_shape shape;   /* of the space, or of the part of it that is wanted */
    bool lanes;       /* several lanes */
    bool fixed_lanes; /* they must stay a loop of their own */
    program p;        /* its operands and steps are these: */
    program_operand operand[MAX_OPERANDS];
    program_step step[MAX_STEPS];
    int32_t operand_node[MAX_OPERANDS], step_node[MAX_STEPS];
} maker;

/* Distances in elements between neighbours along the dimensions of `space`, for a value of `shape`
 * that broadcasts to it. */
static void feature_strides(const hs_shape *space, const hs_shape *shape, size_t unit,
                            size_t *stride)
{
    const int shift = space->rank - shape->rank;
    for (int i = space->rank - 1; i >= 0; i--) {
        const size_t length = i >= shift ? shape->dim[i - shift] : 1;
        stride[i] = length == 1 ? 0 : unit;
        unit *= length;
    }
}

static operand_mode lane_mode(const maker *m, hs_extent extent)
{
    const hs_plan *plan = m->plan;
    if (extent == m->space->extent || (extent == HS_START && plan->request->rows_per_start == 1))
        return OPERAND_VECTOR;
    return plan->layout->stride[extent] == 1 ? OPERAND_SCALAR : OPERAND_EXPAND;
}

/* The place of an operand, and its strides by feature; a loop may have no more of it than a chunk. */
static void set_place(const maker *m, program_operand *operand, int32_t id)
{
    const graph_node *node = node_at(m->plan, id);
    feature_strides(&m->shape, &node->shape, m->plan->layout->stride[node->extent],
                    operand->stride);
    operand->at = place_of(m->plan, id);
    operand->feature = m->shape.rank && operand->at.kind != IN_CHUNK ? operand->stride[0] : 0;
}

/* The operand number of a stored node. */
static int operand_of(maker *m, int32_t id)
{
    for (int i = 0; i < m->p.operands; i++)
        if (m->operand_node[i] == id)
            return i;
    const graph_node *node = node_at(m->plan, id);
    const int k = m->p.operands++;
    const operand_mode mode = m->lanes ? lane_mode(m, node->extent) : OPERAND_VECTOR;
    program_operand *operand = &m->operand[k];
    *operand = (program_operand){ .mode = mode, .repeat = m->plan->request->rows_per_start };
    m->operand_node[k] = id;
    set_place(m, operand, id);
    if (m->lanes)
        operand->stride[m->shape.rank] = mode == OPERAND_VECTOR;
    m->fixed_lanes = m->fixed_lanes || mode == OPERAND_EXPAND;
    return k;
}

/* Where the value of a node comes from: step s as s, operand k as -1 - k. */
static int source_of(maker *m, int32_t id)
{
    for (int s = 0; s < m->p.steps; s++)
        if (m->step_node[s] == id)
            return s;
    return -1 - operand_of(m, id);
}

static void drop_loop(maker *m, int at)
{
    program *p = &m->p;
    p->dims--;
    for (int d = at; d < p->dims; d++) {
        p->length[d] = p->length[d + 1];
        p->out[d] = p->out[d + 1];
        p->summed[d] = p->summed[d + 1];
        for (int k = 0; k < p->operands; k++)
            m->operand[k].stride[d] = m->operand[k].stride[d + 1];
    }
}

/* True if loop d and the next go over every operand as one. */
static bool mergeable(const maker *m, int d)
{
    const program *p = &m->p;
    const size_t length = p->length[d + 1];
    const bool next_is_lanes = m->lanes && d + 2 == p->dims;
    if (p->summed[d] != p->summed[d + 1] || p->out[d] != p->out[d + 1] * length ||
        (next_is_lanes && (m->fixed_lanes || p->summed[d + 1])))
        return false;
    for (int k = 0; k < p->operands; k++)
        if (m->operand[k].stride[d] != m->operand[k].stride[d + 1] * length)
            return false;
    return true;
}

static void simplify_loops(maker *m)
{
    for (int d = m->p.dims - 1 - m->lanes; d >= 0; d--)
        if (m->p.length[d] == 1)
            drop_loop(m, d);
    for (int d = m->p.dims - 2; d >= 0; d--)
        if (mergeable(m, d)) {
            m->p.length[d + 1] *= m->p.length[d];
            drop_loop(m, d);
        }
}

/* Lets results share registers: one is free again after its last use. */
static void assign_registers(maker *m)
{
    program *p = &m->p;
    int last_use[MAX_STEPS], held[MAX_STEPS];
    bool taken[MAX_STEPS] = { false };
    for (int s = 0; s < p->steps; s++) {
        last_use[s] = s;
        for (int i = 0; i < hs__op_table[m->step[s].op].arity; i++)
            if (m->step[s].source[i] >= 0)
                last_use[m->step[s].source[i]] = s;
    }
    if (p->result >= 0)
        last_use[p->result] = p->steps;
    for (int s = 0; s < p->steps; s++) {
        program_step *step = &m->step[s];
        int r = 0;
        while (taken[r])
            r++;
        taken[r] = last_use[s] > s;
        held[s] = step->result = r;
        p->registers = r + 1 > p->registers ? r + 1 : p->registers;
        for (int i = 0; i < hs__op_table[step->op].arity; i++) {
            const int source = step->source[i];
            if (source < 0)
                continue;
            step->source[i] = held[source];
            if (last_use[source] == s)
                taken[held[source]] = false;
        }
    }
    if (p->result >= 0)
        p->result = held[p->result];
}

/* The steps of the group of `root`, in the order of the tape. */
static void collect_steps(maker *m, int32_t root)
{
    const hs_plan *plan = m->plan;
    for (int32_t id = scheduled(plan, root)->group_first; id <= root; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        if (id == root ? node->op == OP_sum_to : s->making != FUSED_INTO || s->host != root)
            continue;
        program_step step = { .op = node->op == OP_broadcast ? OP_copy : node->op,
                              .order = node->attributes ? node->attributes->order : 0 };
        /* A softplus may have its sigmoid besides. */
        for (int i = 0; i < hs__op_table[step.op].arity; i++)
            step.source[i] = source_of(m, node->input[i]);
        m->step_node[m->p.steps] = id;
        m->step[m->p.steps++] = step;
    }
}

/* Takes the innermost loop apart from the others. */
static void set_inner(maker *m, const graph_node *root)
{
    program *p = &m->p;
    const int inner = --p->dims;
    if (inner < 0) { /* a single number */
        p->dims = 0;
        p->inner = 1;
        return;
    }
    p->inner = p->length[inner];
    p->inner_lanes = m->lanes;
    p->inner_summed = p->summed[inner];
    p->inner_starts = m->lanes && p->inner_summed && root->extent == HS_START &&
                      m->plan->layout->stride[HS_START] > 1;
    for (int d = 0; d < inner; d++)
        if (p->summed[d] || !sums_outside(p))
            p->row_dim = d;
    for (int k = 0; k < p->operands; k++)
        if (!m->operand[k].stride[inner] && m->operand[k].mode == OPERAND_VECTOR)
            m->operand[k].mode = OPERAND_SCALAR;
}

/* The more rows in a tile, the less it costs to walk through the program; but they must fit into a
 * block, and fill whole vectors. */
static void set_tile(maker *m)
{
    program *p = &m->p;
    const plan_request *request = m->plan->request;
    const size_t block = BLOCK_BYTES / request->element;
    p->tile = 1;
    if (p->row_dim < 0 || p->inner % request->elementwise->lanes || 2 * p->inner > block)
        return;
    p->tile = block / p->inner;
    for (int k = 0; k < p->operands; k++)
        if (m->operand[k].mode == OPERAND_SCALAR && row_stride(p, &m->operand[k]))
            m->operand[k].mode = OPERAND_ROWS;
}

/* Whether the sum at the end can take the last step, a softplus, into its kernel, which spares all
 * of its logarithms but one for a tile. A stored value is summed where it is: its tiles need not fit
 * into a block, and have as many rows as the kernel takes for a logarithm. */
static bool sums_softplus(maker *m)
{
    enum { ROWS_IN_PLACE = 64 };
    program *p = &m->p;
    if (p->result < 0 || p->result != p->steps - 1 || m->step[p->result].op != OP_softplus ||
        p->inner_starts)
        return false;
    if (p->inner_summed)
        return true;
    if (!sums_outside(p))
        return false;
    if (p->steps == 1 && is_whole(p, m->operand) &&
        p->inner % m->plan->request->elementwise->lanes == 0)
        p->tile = ROWS_IN_PLACE;
    return p->tile > 1;
}

/* Makes an operand of the sigmoid of a summed softplus, unless its argument is not where it is stored. */
static void add_sigmoid(maker *m, int32_t softplus)
{
    program *p = &m->p;
    const graph_node *node = node_at(m->plan, softplus);
    if (node->inputs < 2 || p->steps != 1 || p->inner_summed || p->tile == 1 ||
        !is_whole(p, m->operand))
        return;
    /* It is stored in the same way as the argument. */
    program_operand features, *sigmoid = &m->operand[p->sigmoid = p->operands++];
    set_place(m, &features, node->input[1]);
    *sigmoid = *m->operand;
    sigmoid->at = features.at;
    sigmoid->feature = features.feature;
}

/* Lets the sum at the end take over a softplus, and gives it its value in a vector. */
static void prepare_sum(maker *m)
{
    program *p = &m->p;
    p->sum_softplus = sums_softplus(m);
    if (p->sum_softplus) {
        add_sigmoid(m, m->step_node[p->result]);
        p->result = m->step[--p->steps].source[0];
    }
    if (p->result < 0 && m->operand[-1 - p->result].mode != OPERAND_VECTOR) {
        m->step[p->steps] = (program_step){ .op = OP_copy, .source = { p->result, 0, 0 } };
        p->result = p->steps++;
    }
}

/* The plain sum of a stored value over the lanes, as for a bias: it has a kernel of its own. */
static bool is_lane_sum(const program *p)
{
    return p->inner_summed && p->inner_lanes && !p->inner_starts && p->steps == 0 &&
           !p->sum_softplus && (p->dims == 0 || (p->dims == 1 && !p->summed[0] && p->out[0] == 1));
}

/* The sum over features of the product of two stored values, or of the square of one. The second may have one
 * number for each row. */
static bool is_product_sum(program *p)
{
    int sums = 0;
    for (int d = 0; d < p->dims; d++)
        sums += p->summed[d];
    if (p->sum_softplus || p->inner_summed || p->tile == 1 || sums != 1 || p->steps != 1 ||
        (p->step->op != OP_mul && p->step->op != OP_square))
        return false;
    const int *source = p->step->source;
    const int last = p->step->op == OP_mul; /* number of the second factor's source */
    const bool swap = p->operand[-1 - source[0]].mode == OPERAND_ROWS;
    const int a = source[swap ? last : 0], b = source[swap ? 0 : last];
    const program_operand *first = &p->operand[-1 - a], *second = &p->operand[-1 - b];
    if (!is_whole(p, first) || !(is_whole(p, second) || second->mode == OPERAND_ROWS))
        return false;
    p->step->source[0] = a;
    p->step->source[1] = b;
    return true;
}

/* Notes which operands of steps are one number, and copies the program into the plan. */
static program *keep_program(maker *m)
{
    hs_arena *arena = m->plan->arena;
    program *p = hs_arena_alloc(arena, sizeof *p);
    program_operand *operand = hs_arena_alloc(arena, (size_t)(m->p.operands + 1) * sizeof *operand);
    program_step *step = hs_arena_alloc(arena, (size_t)(m->p.steps + 1) * sizeof *step);
    if (!p || !operand || !step)
        return NULL;
    for (int s = 0; s < m->p.steps; s++)
        for (int i = 0; i < hs__op_table[m->step[s].op].arity; i++) {
            const int source = m->step[s].source[i];
            if (source < 0 && m->operand[-1 - source].mode == OPERAND_SCALAR)
                m->step[s].scalars |= 1u << i;
        }
    *p = m->p;
    p->operand = memcpy(operand, m->operand, (size_t)p->operands * sizeof *operand);
    p->step = memcpy(step, m->step, (size_t)p->steps * sizeof *step);
    p->lane_sum = is_lane_sum(p);
    p->product_sum = is_product_sum(p);
    return p;
}

/* The loops over the space of `root`, and where its value is in them. */
static void set_loops(maker *m, const graph_node *root)
{
    const plan_layout *layout = m->plan->layout;
    program *p = &m->p;
    const int rank = p->dims = m->shape.rank;
    feature_strides(&m->shape, &root->shape, layout->stride[root->extent], p->out);
    for (int d = 0; d < rank; d++) {
        p->length[d] = m->shape.dim[d];
        p->summed[d] = root->op == OP_sum_to && p->out[d] == 0 && p->length[d] > 1;
    }
    if (!m->lanes)
        return;
    p->dims++;
    p->length[rank] = layout->stride[m->space->extent];
    p->out[rank] = lane_mode(m, root->extent) == OPERAND_VECTOR;
    p->summed[rank] = !p->out[rank];
}

program *hs__program_make(const hs_plan *plan, plan_code *code, int32_t id, size_t features)
{
    const graph_node *root = node_at(plan, id);
    const bool sums = root->op == OP_sum_to;
    maker *m = hs_alloc_zero(1, sizeof *m);
    program *p = NULL;
    if (m) {
        m->plan = plan;
        m->space = sums ? node_at(plan, root->input[0]) : root;
        m->lanes = plan->layout->stride[m->space->extent] > 1;
        m->shape = m->space->shape;
        if (features)
            m->shape.dim[0] = features;
        m->p = (program){ .lanes_extent = m->space->extent, .row_dim = -1, .sigmoid = -1 };
        set_loops(m, root);
        collect_steps(m, id);
        m->p.result = sums ? source_of(m, root->input[0]) : m->p.steps - 1;
        simplify_loops(m);
        set_inner(m, root);
        set_tile(m);
        prepare_sum(m);
        assign_registers(m);
        p = keep_program(m);
    }
    hs_free(m);
    if (p)
        hs__code_need_scratch(code, hs__program_scratch(plan, p));
    else
        hs__plan_no_memory(plan);
    return p;
}
