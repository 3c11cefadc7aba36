#include <hastings/tensor/status.h>

#include <stddef.h>

const char *hs_status_text(hs_status status)
{
    static const char *const texts[] = {
#define HS_STATUS_TEXT(code, text) [code] = text,
        HS_STATUS_LIST(HS_STATUS_TEXT)
#undef HS_STATUS_TEXT
    };
    if ((size_t)status >= sizeof texts / sizeof *texts)
        return "unknown status";
    return texts[status];
}
