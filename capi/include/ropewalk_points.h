/*
 * Searches and clusters of points in 1 to 10 dimensions, in one process: trees with queries by radius, nearest
 * neighbours and callbacks, DBSCAN and HDBSCAN*.
 *
 * Statuses, error messages, threads, ownership and versions are those of ropewalk.h. Lengths are in the unit of the
 * points. Radii are inclusive. Distances are compared in 64 bits, even if coordinates have 32 bits. Results do not
 * depend on the number of threads.
 *
 * Points are not written to, and must not change during a call. Memory for results is in addition to that of the call.
 */
#ifndef ROPEWALK_POINTS_H
#define ROPEWALK_POINTS_H

#include "ropewalk.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `count` points of `dim` coordinates, 1 to 10. The coordinates of a point are contiguous; those of the first are at
 * `data`, and the next ones follow at a distance of `stride` bytes, such as sizeof(struct particle). A stride of 0
 * means no gaps. `type` is ROPEWALK_F32 or ROPEWALK_F64.
 *
 * Points without gaps are not copied; others are copied once. Coordinates must be finite.
 */
typedef struct ropewalk_points {
    const void *data;
    uint64_t count;
    uint64_t stride;
    uint32_t dim;
    uint32_t type;
} ropewalk_points;

/* A tree of points. Several threads may query it at the same time. */
typedef struct ropewalk_tree ropewalk_tree;

/* A list of points for each centre of a query. */
typedef struct ropewalk_lists ropewalk_lists;

/*
 * Builds a tree, which copies the coordinates. The caller frees it with ropewalk_tree_free.
 *
 * `box_size` has `dim` sides of the periodic box, or is NULL for open space. Points may have any origin, but must not
 * span more than a side.
 *
 * Memory: the coordinates, in 64 bits if the dimension is neither 2 nor 3, and the nodes of the tree.
 */
int ropewalk_tree_build(const ropewalk_points *points, const double *box_size, ropewalk_tree **tree);

/* Frees a tree. Does nothing for NULL. */
void ropewalk_tree_free(ropewalk_tree *tree);

/* The number of points of a tree and their dimension; 0 for NULL. */
uint64_t ropewalk_tree_count(const ropewalk_tree *tree);
uint32_t ropewalk_tree_dim(const ropewalk_tree *tree);

/*
 * Lists the points within a radius of each centre, as indices into the points of the tree, in ascending order.
 *
 * Centres have the dimension of the tree, and either type. `radius_count` is 1 for one radius for all centres, or the
 * number of centres. Radii must be finite and not negative. The caller frees the lists with ropewalk_lists_free.
 */
int ropewalk_tree_query(const ropewalk_tree *tree, const ropewalk_points *centers, const double *radii,
                        uint64_t radius_count, ropewalk_lists **lists);

/* Counts the points within a radius of each centre, as ropewalk_tree_query finds them. The caller provides memory for a
   count per centre. */
int ropewalk_tree_query_count(const ropewalk_tree *tree, const ropewalk_points *centers, const double *radii,
                              uint64_t radius_count, uint32_t *counts);

/*
 * Lists the k points nearest to each centre, nearest first, ties by index, with distances. A list is shorter if fewer
 * points are at most `max_distance` away; INFINITY means no limit. A point of the tree that equals the centre counts.
 * The caller frees the lists with ropewalk_lists_free.
 */
int ropewalk_tree_nearest(const ropewalk_tree *tree, const ropewalk_points *centers, uint64_t k, double max_distance,
                          ropewalk_lists **lists);

/* Results of a visitor: continue with the next point of this centre, or with the next centre, or end the call. */
enum { ROPEWALK_CONTINUE = 0, ROPEWALK_NEXT_CENTER = 1, ROPEWALK_STOP = 2 };

/*
 * A function that ropewalk_tree_visit calls with its context, the index of a centre and the index of a point near it.
 * It returns ROPEWALK_CONTINUE, ROPEWALK_NEXT_CENTER or ROPEWALK_STOP. It must not throw a C++ exception or call longjmp.
 * It may query the same tree.
 */
typedef int (*ropewalk_visitor)(void *context, uint64_t center, uint32_t point);

/*
 * Calls `visitor` for each point within a radius of each centre, and stores nothing. Centres and radii are those of
 * ropewalk_tree_query.
 *
 * Calls are on the caller's thread, one centre after the other in their order. The points of a centre are in
 * unspecified order, the same in every run. A search ends where the visitor ends it, so that finding one point costs
 * less than finding all. The call returns ROPEWALK_OK also if a visitor has ended it.
 */
int ropewalk_tree_visit(const ropewalk_tree *tree, const ropewalk_points *centers, const double *radii,
                        uint64_t radius_count, ropewalk_visitor visitor, void *context);

/* The number of lists, which is that of the centres; 0 for NULL. */
uint64_t ropewalk_lists_count(const ropewalk_lists *lists);

/* The list of centre i begins at index offsets[i] of the indices and distances, and ends before offsets[i + 1]. There is
   one more offset than lists. NULL for NULL. Pointers are valid until the lists are freed. */
const uint64_t *ropewalk_lists_offsets(const ropewalk_lists *lists);

/* The indices of the points of all lists. */
const uint32_t *ropewalk_lists_indices(const ropewalk_lists *lists);

/* The distance of each point of ropewalk_lists_indices from its centre; NULL for ropewalk_tree_query. */
const double *ropewalk_lists_distances(const ropewalk_lists *lists);

/* Frees lists. Does nothing for NULL. */
void ropewalk_lists_free(ropewalk_lists *lists);

/* Options of DBSCAN for points of any dimension. */
typedef struct ropewalk_points_dbscan_options {
    double eps;
    /* The minimum number of points within eps of a core point, itself included. 0 is an error. */
    uint64_t min_samples;
    /* The periodic box, as for ropewalk_tree_build. Each side must be at least twice eps. */
    const double *box_size;
} ropewalk_points_dbscan_options;

/*
 * Finds the clusters of DBSCAN, with the labels of scikit-learn. With min_samples = 2, clusters are the groups of
 * friends of friends. The result has labels and core points. The caller frees it with ropewalk_result_free.
 */
int ropewalk_points_dbscan(const ropewalk_points *points, const ropewalk_points_dbscan_options *options,
                           ropewalk_result **result);

/* The choice of clusters of HDBSCAN*: the largest sum of stabilities, or the clusters that do not split. */
enum { ROPEWALK_EXCESS_OF_MASS = 0, ROPEWALK_LEAF = 1 };

/* Options of HDBSCAN*. */
typedef struct ropewalk_hdbscan_options {
    /* The minimum number of points of a cluster, at least 2. */
    uint64_t min_cluster_size;
    /* The number of nearest points, the point itself included, whose maximum distance is the core distance. 0 means
       min_cluster_size. */
    uint64_t min_samples;
    /* The maximum number of points of a cluster chosen by ROPEWALK_EXCESS_OF_MASS. 0 means no maximum. */
    uint64_t max_cluster_size;
    /* The minimum distance at which chosen clusters split off, not negative. */
    double cluster_selection_epsilon;
    /* The divisor of distances, but not of core distances. 0 means 1. */
    double alpha;
    /* ROPEWALK_EXCESS_OF_MASS or ROPEWALK_LEAF. */
    uint32_t cluster_selection;
    /* Any value but 0 allows a single cluster of all points. */
    uint32_t allow_single_cluster;
    /* The periodic box, as for ropewalk_tree_build. */
    const double *box_size;
} ropewalk_hdbscan_options;

/* Finds the clusters of HDBSCAN*, numbered by their smallest member. Edges of equal weight are removed at once. The result
   has labels, probabilities and outlier scores. The caller frees it with ropewalk_result_free. */
int ropewalk_hdbscan(const ropewalk_points *points, const ropewalk_hdbscan_options *options, ropewalk_result **result);

#ifdef __cplusplus
}
#endif

#endif
