/* Making of elementwise groups: one pass over memory for a chain of ops, and for a sum at its end. */
#include "plan_internal.h"

#include <string.h>

/* A program while it is made. Its loops are a list of dimensions, outermost first; the lanes of the
 * batch, if there are several, are the last. */
typedef struct {
    const hs_plan *plan;
    const graph_node *space;
    hs_shape shape; /* of the space, or of the part of it that is wanted */
    bool lanes;     /* several lanes */
    program p;      /* its operands and steps are these: */
    program_operand operand[MAX_OPERANDS];
    program_step step[MAX_STEPS];
    int32_t operand_node[MAX_OPERANDS], step_node[MAX_STEPS];
    int dims;
    size_t length[LOOP_DIMS + 1];
    size_t stride[MAX_OPERANDS][LOOP_DIMS + 1];
    size_t out[LOOP_DIMS + 1];
    bool summed[LOOP_DIMS + 1];
    bool fixed_lanes; /* the lanes must stay a dimension of their own */
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

/* Elements from one feature to the next of a value with these strides, of which a loop may have no more than a chunk. */
static size_t feature_of(const maker *m, place at, const size_t *stride)
{
    return m->shape.rank && at.kind != IN_CHUNK ? stride[0] : 0;
}

/* The operand number of a stored node. */
static int operand_of(maker *m, int32_t id)
{
    for (int i = 0; i < m->p.operands; i++)
        if (m->operand_node[i] == id)
            return i;
    const graph_node *node = node_at(m->plan, id);
    const place at = place_of(m->plan, id);
    const int k = m->p.operands++;
    const operand_mode mode = m->lanes ? lane_mode(m, node->extent) : OPERAND_VECTOR;
    size_t *stride = m->stride[k];
    feature_strides(&m->shape, &node->shape, m->plan->layout->stride[node->extent], stride);
    m->operand_node[k] = id;
    m->operand[k] = (program_operand){ .at = at,
                                       .mode = mode,
                                       .repeat = m->plan->request->rows_per_start,
                                       .feature = feature_of(m, at, stride) };
    if (m->lanes)
        stride[m->shape.rank] = mode == OPERAND_VECTOR;
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

static void drop_dimension(maker *m, int at)
{
    m->dims--;
    for (int d = at; d < m->dims; d++) {
        m->length[d] = m->length[d + 1];
        m->out[d] = m->out[d + 1];
        m->summed[d] = m->summed[d + 1];
        for (int k = 0; k < m->p.operands; k++)
            m->stride[k][d] = m->stride[k][d + 1];
    }
}

/* True if dimension d and the next are walked as one by every operand. */
static bool mergeable(const maker *m, int d)
{
    const size_t length = m->length[d + 1];
    const bool next_is_lanes = m->lanes && d + 2 == m->dims;
    if (m->summed[d] != m->summed[d + 1] || m->out[d] != m->out[d + 1] * length ||
        (next_is_lanes && (m->fixed_lanes || m->summed[d + 1])))
        return false;
    for (int k = 0; k < m->p.operands; k++)
        if (m->stride[k][d] != m->stride[k][d + 1] * length)
            return false;
    return true;
}

static void simplify_loops(maker *m)
{
    for (int d = m->dims - 1 - m->lanes; d >= 0; d--)
        if (m->length[d] == 1)
            drop_dimension(m, d);
    for (int d = m->dims - 2; d >= 0; d--)
        if (mergeable(m, d)) {
            m->length[d + 1] *= m->length[d];
            drop_dimension(m, d);
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

/* The loops: over all dimensions outside of the innermost one. */
static void set_loops(maker *m)
{
    program *p = &m->p;
    const int inner = m->dims - 1;
    p->inner = inner >= 0 ? m->length[inner] : 1;
    p->inner_lanes = m->lanes && inner >= 0;
    p->inner_summed = inner >= 0 && m->summed[inner];
    for (int d = 0; d < inner; d++) {
        const int kind = m->summed[d], at = p->dims[kind]++;
        p->length[kind][at] = m->length[d];
        if (!kind)
            p->out_stride[at] = m->out[d];
        for (int k = 0; k < p->operands; k++)
            m->operand[k].stride[kind][at] = m->stride[k][d];
    }
    for (int k = 0; k < p->operands; k++)
        if (inner >= 0 && !m->stride[k][inner] && m->operand[k].mode == OPERAND_VECTOR)
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
    if (p->dims[tile_kind(p)] == 0 || p->inner % request->elementwise->lanes ||
        2 * p->inner > block)
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
    if (p->dims[1] == 0)
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
    const graph_node *sigmoid = node_at(m->plan, node->input[1]);
    size_t stride[LOOP_DIMS + 1];
    feature_strides(&m->shape, &sigmoid->shape, m->plan->layout->stride[sigmoid->extent], stride);
    p->sigmoid = p->operands++;
    program_operand *added = &m->operand[p->sigmoid];
    *added = *m->operand; /* stored in the same way as the argument */
    added->at = place_of(m->plan, node->input[1]);
    added->feature = feature_of(m, added->at, stride);
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
           !p->sum_softplus && p->dims[1] == 0 && p->dims[0] <= 1 &&
           (p->dims[0] == 0 || p->out_stride[0] == 1);
}

/* The sum over features of the product of two stored values, or of the square of one. The second may have one
 * number for each row. */
static bool is_product_sum(program *p)
{
    if (p->sum_softplus || p->inner_summed || p->tile == 1 || p->dims[1] != 1 || p->steps != 1 ||
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

/* The dimensions of the space of `root`, and where its value is in them. */
static void set_dimensions(maker *m, const graph_node *root)
{
    const plan_layout *layout = m->plan->layout;
    const int rank = m->dims = m->shape.rank;
    feature_strides(&m->shape, &root->shape, layout->stride[root->extent], m->out);
    for (int d = 0; d < rank; d++) {
        m->length[d] = m->shape.dim[d];
        m->summed[d] = root->op == OP_sum_to && m->out[d] == 0 && m->shape.dim[d] > 1;
    }
    if (!m->lanes)
        return;
    m->dims++;
    m->length[rank] = layout->stride[m->space->extent];
    m->out[rank] = root->extent == m->space->extent ||
                   (root->extent == HS_START && m->plan->request->rows_per_start == 1);
    m->summed[rank] = !m->out[rank];
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
        m->p = (program){ .lanes_extent = m->space->extent, .sigmoid = -1 };
        set_dimensions(m, root);
        collect_steps(m, id);
        m->p.result = sums ? source_of(m, root->input[0]) : m->p.steps - 1;
        simplify_loops(m);
        set_loops(m);
        m->p.inner_starts = m->p.inner_lanes && m->p.inner_summed && root->extent == HS_START &&
                            plan->layout->stride[HS_START] > 1;
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
