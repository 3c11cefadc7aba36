#include <hastings/experiments/event.h>
