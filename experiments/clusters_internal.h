/* Clusters of the draws of a target: a start for mixtures. */
#ifndef HASTINGS_EXPERIMENTS_CLUSTERS_INTERNAL_H
#define HASTINGS_EXPERIMENTS_CLUSTERS_INTERNAL_H

#include <hastings/experiments/points.h>

enum { CLUSTER_DIM = 16 };

/* Centres [k][dim], dim <= CLUSTER_DIM and k <= HS_MAX_WAYS, by Lloyd's algorithm, from the first point and those that are farthest from all
 * before; returns the root mean square distance of a coordinate from its centre. */
double app_find_clusters(const app_points *points, size_t k, double *centre);

#endif
