#include <hastings/experiments/json.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

json_t *app_json_number(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", x);
    return isfinite(x) ? json_real(strtod(text, NULL)) : json_null();
}

json_t *app_json_text(const char *text)
{
    json_t *json = json_string(text);
    char plain[512];
    snprintf(plain, sizeof plain, "%s", text);
    for (char *c = plain; *c && !json; c++)
        *c = (unsigned char)*c < 128 ? *c : '?';
    return json ? json : json_string(plain);
}

bool app_json_can_have(const char *text)
{
    json_t *json = json_string(text);
    json_decref(json);
    return json != NULL;
}
