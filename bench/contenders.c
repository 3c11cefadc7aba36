#include "contenders.h"

const char *const peer_names[PEERS] = { "torch", "jax" };
const char *const peer_scripts[PEERS] = { HS_PEERS "/steps_torch.py", HS_PEERS "/steps_jax.py" };

void contenders_start(contenders *all, const settings *set)
{
    json_t *versions = json_object_get(set->result, "peers");
    for (int p = 0; p < PEERS; p++)
        for (int way = 0; way < WAYS && wants(set, PEER_NAMES, peer_names[p]); way++) {
            char version[64];
            if (peer_start_with(&all->process[p][way], peer_scripts[p], threads_key(set, way),
                                version, sizeof version))
                json_object_set_new(versions, peer_names[p], json_string(version));
            else
                fprintf(stderr, "no %s: its columns stay empty\n", peer_names[p]);
        }
}

void contenders_stop(contenders *all)
{
    for (int p = 0; p < PEERS; p++)
        for (int way = 0; way < WAYS; way++)
            peer_stop(&all->process[p][way]);
}

bool contenders_any(const contenders *all)
{
    for (int p = 0; p < PEERS; p++)
        for (int way = 0; way < WAYS; way++)
            if (all->process[p][way].to)
                return true;
    return false;
}

bool contender_runs(const contenders *all, const settings *set, int who, int way)
{
    return all->process[who][way].to && !(set->threads[1] == 1 && way);
}

int contender_ask(contenders *all, int who, int way, const char *line, double *numbers, int most)
{
    char text[256] = "";
    const int n = peer_ask_text(&all->process[who][way], line, numbers, most, text, sizeof text);
    if (n == 0)
        fprintf(stderr, "%s, \"%s\": %s\n", peer_names[who], line, text[0] ? text : "no answer");
    return n;
}
