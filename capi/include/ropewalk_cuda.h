/*
 * Searches and clusters of points that are in the memory of an NVIDIA GPU. Results stay there. The library must be built
 * with the feature `cuda`; otherwise these functions exist, and return ROPEWALK_INVALID.
 *
 * Statuses, error messages and ownership are those of ropewalk.h. Structures of points and options are those of
 * ropewalk_points.h; `data` of points is an address on the device, and `box_size` is in host memory. Results equal those
 * of the functions without `cuda` in their name, except for the order of neighbours. Searches are for each point of the
 * tree. Without a GPU a call returns ROPEWALK_INVALID.
 *
 * Order: the work that writes the points must have ended before a call, or be on the legacy default stream. The points
 * are copied within the device, and may change once the call has returned. Results are complete then, and may be read
 * on any stream.
 *
 * A call runs on the device that has the points. Trees and results may be used by all threads. A call that frees memory
 * does not wait for kernels that read it. The memory is kept until they have ended.
 */
#ifndef ROPEWALK_CUDA_H
#define ROPEWALK_CUDA_H

#include "ropewalk_points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tree of points on a device. */
typedef struct ropewalk_cuda_tree ropewalk_cuda_tree;

/* A list of points for each point of a tree, on the device. */
typedef struct ropewalk_cuda_lists ropewalk_cuda_lists;

/* The cluster of each point, on the device. */
typedef struct ropewalk_cuda_labels ropewalk_cuda_labels;

/* 1 if the library was built with CUDA, else 0. A GPU may be missing nevertheless. */
int ropewalk_cuda_built(void);

/*
 * Builds a tree. The coordinates of points must have no gaps: `stride` is 0, or the size of one point. `box_size` has
 * the sides of the periodic box, or is NULL for open space. The caller frees the tree with ropewalk_cuda_tree_free.
 */
int ropewalk_cuda_tree_build(const ropewalk_points *points, const double *box_size, ropewalk_cuda_tree **tree);

/* Frees a tree. Does nothing for NULL. */
void ropewalk_cuda_tree_free(ropewalk_cuda_tree *tree);

/* The number of points of a tree; 0 for NULL. */
uint64_t ropewalk_cuda_tree_count(const ropewalk_cuda_tree *tree);

/* Counts the pairs of points within a radius of each other, inclusive, each pair once. `pairs` is in host memory. */
int ropewalk_cuda_tree_count_pairs(const ropewalk_cuda_tree *tree, double radius, uint64_t *pairs);

/* Lists the points within a radius of each point, inclusive and itself included, as indices. Those of a list are in
   unspecified order, the same in every run. The caller frees the lists with ropewalk_cuda_lists_free. */
int ropewalk_cuda_tree_neighbors(const ropewalk_cuda_tree *tree, double radius, ropewalk_cuda_lists **lists);

/* Lists the k nearest other points of each point, nearest first, ties by index, with distances. k is at least 1, and less
   than the number of points. The caller frees the lists with ropewalk_cuda_lists_free. */
int ropewalk_cuda_tree_nearest(const ropewalk_cuda_tree *tree, uint64_t k, ropewalk_cuda_lists **lists);

/* The number of lists, and of the indices of all lists; 0 for NULL. */
uint64_t ropewalk_cuda_lists_count(const ropewalk_cuda_lists *lists);
uint64_t ropewalk_cuda_lists_total(const ropewalk_cuda_lists *lists);

/* The address on the device of the offsets: list i has the indices offsets[i] to offsets[i + 1] - 1, and there is one
   more offset than lists. NULL for ropewalk_cuda_tree_nearest, where list i has the indices k * i to k * i + k - 1.
   Addresses are valid until the lists are freed. */
const uint32_t *ropewalk_cuda_lists_offsets(const ropewalk_cuda_lists *lists);

/* The address on the device of the indices of all lists. */
const uint32_t *ropewalk_cuda_lists_indices(const ropewalk_cuda_lists *lists);

/* The address on the device of the distances of all lists; NULL for ropewalk_cuda_tree_neighbors. */
const double *ropewalk_cuda_lists_distances(const ropewalk_cuda_lists *lists);

/* Frees lists. Does nothing for NULL. */
void ropewalk_cuda_lists_free(ropewalk_cuda_lists *lists);

/* Finds the clusters of DBSCAN, as ropewalk_points_dbscan does. The caller frees the labels with
   ropewalk_cuda_labels_free. */
int ropewalk_cuda_dbscan(const ropewalk_points *points, const ropewalk_points_dbscan_options *options,
                         ropewalk_cuda_labels **labels);

/* The number of points, and of clusters; 0 for NULL. */
uint64_t ropewalk_cuda_labels_count(const ropewalk_cuda_labels *labels);
uint64_t ropewalk_cuda_labels_clusters(const ropewalk_cuda_labels *labels);

/* The address on the device of the cluster of each point, -1 for noise. Valid until the labels are freed. */
const int32_t *ropewalk_cuda_labels_data(const ropewalk_cuda_labels *labels);

/* Frees labels. Does nothing for NULL. */
void ropewalk_cuda_labels_free(ropewalk_cuda_labels *labels);

#ifdef __cplusplus
}
#endif

#endif
