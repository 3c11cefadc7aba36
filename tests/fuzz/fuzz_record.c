/* JSON records of jobs, as result.json and work/JOB.json have them. */
#include <hastings/experiments/record.h>

#include "fuzz.h"

/* A record as JSON, and what that JSON reads as. */
static app_record *write_and_read(const app_record *record, json_t **json)
{
    hs_message message;
    *json = app_record_json(record);
    fuzz_check(*json);
    app_record *again = app_record_read(*json, "a record", &message);
    fuzz_check(again);
    return again;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    hs_message message;
    json_t *given = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!given)
        return false;
    app_record *record = app_record_read(given, "a record", &message);
    json_decref(given);
    if (!record)
        return fuzz_refused(message.text);
    json_t *json, *second;
    app_record *again = write_and_read(record, &json);
    app_record_free(write_and_read(again, &second));
    fuzz_check(json_equal(json, second));
    json_decref(second);
    json_decref(json);
    app_record_free(again);
    app_record_free(record);
    return true;
}
