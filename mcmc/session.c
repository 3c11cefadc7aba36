#include <hastings/mcmc/session.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/threads.h>

typedef struct owned {
    struct owned *previous;
    void *object;
    void (*release)(void *object);
} owned;

struct hs_session {
    hs_session_options options;
    bool interrupted;
    hs_status status;
    char error[512];
    hs_arena arena;
    owned *last;
};

hs_session *hs_session_new(const hs_session_options *options)
{
    hs_session *s = hs_alloc_zero(1, sizeof *s);
    if (s && options)
        s->options = *options;
    return s;
}

void hs_session_free(hs_session *s)
{
    if (!s)
        return;
    for (owned *o = s->last; o; o = o->previous)
        o->release(o->object);
    hs_arena_free(&s->arena);
    hs_free(s);
}

hs_status hs_session_status(const hs_session *s)
{
    return s ? s->status : HS_ENOMEM;
}

const char *hs_session_error(const hs_session *s)
{
    return s ? s->error : "out of memory: there is no session";
}

hs_status hs_session_fail(hs_session *s, hs_status status, const char *format, ...)
{
    if (!s)
        return HS_ENOMEM;
    if (s->status == HS_OK) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(s->error, sizeof s->error, format, arguments);
        va_end(arguments);
        s->status = status;
    }
    return s->status;
}

hs_status hs_session_no_memory(hs_session *s, size_t bytes, const char *format, ...)
{
    char text[400];
    hs_message message;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)hs_memory_fail(&message, bytes, "%s", text);
    return hs_session_fail(s, HS_ENOMEM, "%s", message.text);
}

void hs_session_clear(hs_session *s)
{
    if (s) {
        s->status = HS_OK;
        s->error[0] = '\0';
    }
}

uint64_t hs_session_seed(const hs_session *s)
{
    return s ? s->options.seed : 0;
}

hs_dtype hs_session_dtype(const hs_session *s)
{
    return s && s->options.float32 ? HS_F32 : HS_F64;
}

int hs_session_threads(const hs_session *s)
{
    return s && s->options.threads > 0 ? s->options.threads : hs_threads_default();
}

bool hs_session_interrupted(void *session)
{
    hs_session *s = session;
    if (s && !s->interrupted && s->options.interrupted)
        s->interrupted = s->options.interrupted(s->options.context);
    return s && s->interrupted;
}

void *hs_session_alloc(hs_session *s, size_t bytes)
{
    if (!s || s->status)
        return NULL;
    void *memory = hs_arena_alloc(&s->arena, bytes);
    if (!memory)
        hs_session_no_memory(s, bytes, "out of memory");
    else
        memset(memory, 0, bytes);
    return memory;
}

bool hs_session_own(hs_session *s, void *object, void (*release)(void *object))
{
    if (!object)
        return false;
    owned *o = hs_session_alloc(s, sizeof *o);
    if (!o) {
        release(object);
        return false;
    }
    *o = (owned){ s->last, object, release };
    s->last = o;
    return true;
}
