/*
 * Points in the memory of an NVIDIA GPU: pairs, neighbours, nearest neighbours and clusters equal those that the same
 * library finds on the CPU. Lists of neighbours are sorted first. A library without CUDA must refuse them with a message that says so.
 *
 * CUDA's driver is loaded at run time, so that this compiles without CUDA.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ropewalk_cuda.h"

enum { COUNT = 20000, K = 7 };

/* Ends the program if a call has failed. */
static void done(int status, const char *what)
{
    if (status != 0) {
        fprintf(stderr, "%s: status %d, %s\n", what, status, ropewalk_error_message());
        exit(1);
    }
}

/* Ends the program if a condition does not hold. */
static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void *driver;

/* Stores the address of a function of the driver, without a cast between functions and data. */
static void load(const char *name, void *function)
{
    void *found = dlsym(driver, name);
    must(found != NULL, name);
    memcpy(function, &found, sizeof found);
}

static int (*to_host)(void *, unsigned long long, size_t);

/* Returns a copy of values on the device. */
static void *copied(const void *address, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    must(copy != NULL, "out of memory");
    done(to_host(copy, (unsigned long long)(uintptr_t)address, bytes), "cuMemcpyDtoH");
    return copy;
}

static void without_cuda(const ropewalk_points *points)
{
    ropewalk_points_dbscan_options options = {0.1, 5, NULL};
    ropewalk_cuda_tree *tree = NULL;
    ropewalk_cuda_labels *labels = NULL;
    must(ropewalk_cuda_tree_build(points, NULL, &tree) == ROPEWALK_INVALID && tree == NULL, "a tree without CUDA");
    must(strstr(ropewalk_error_message(), "built without CUDA") != NULL, ropewalk_error_message());
    must(ropewalk_cuda_dbscan(points, &options, &labels) == ROPEWALK_INVALID && labels == NULL, "labels without CUDA");
    must(ropewalk_cuda_tree_build(NULL, NULL, &tree) == ROPEWALK_INVALID && tree == NULL, "points that are NULL");
    must(strstr(ropewalk_error_message(), "points is NULL") != NULL, ropewalk_error_message());
    must(ropewalk_cuda_tree_build(points, NULL, NULL) == ROPEWALK_INVALID, "a tree that is NULL");
    must(ropewalk_cuda_dbscan(points, NULL, &labels) == ROPEWALK_INVALID, "options that are NULL");
    ropewalk_cuda_lists *lists;
    must(ropewalk_cuda_tree_neighbors(NULL, 0.1, &lists) == ROPEWALK_INVALID && lists == NULL, "no tree");
    must(ropewalk_cuda_tree_nearest(NULL, 1, &lists) == ROPEWALK_INVALID && lists == NULL, "no tree");
    must(ropewalk_cuda_tree_count_pairs(NULL, 0.1, NULL) == ROPEWALK_INVALID, "no tree");
    must(ropewalk_cuda_tree_count(NULL) == 0 && ropewalk_cuda_lists_offsets(NULL) == NULL, "NULL");
    ropewalk_cuda_tree_free(NULL);
    ropewalk_cuda_lists_free(NULL);
    ropewalk_cuda_labels_free(NULL);
    puts("built without CUDA: refused");
}

static int ascending(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void neighbors(const ropewalk_points *host, const ropewalk_tree *tree, const ropewalk_cuda_tree *there, double radius)
{
    ropewalk_lists *lists;
    ropewalk_cuda_lists *found;
    done(ropewalk_tree_query(tree, host, &radius, 1, &lists), "ropewalk_tree_query");
    done(ropewalk_cuda_tree_neighbors(there, radius, &found), "ropewalk_cuda_tree_neighbors");
    uint64_t total = ropewalk_lists_offsets(lists)[COUNT];
    must(ropewalk_cuda_lists_count(found) == COUNT && ropewalk_cuda_lists_total(found) == total, "sizes of lists");
    must(ropewalk_cuda_lists_distances(found) == NULL, "distances of lists");
    uint32_t *offsets = copied(ropewalk_cuda_lists_offsets(found), (COUNT + 1) * sizeof *offsets);
    uint32_t *indices = copied(ropewalk_cuda_lists_indices(found), total * sizeof *indices);
    for (uint64_t i = 0; i <= COUNT; i++)
        must(offsets[i] == ropewalk_lists_offsets(lists)[i], "offsets");
    for (uint64_t i = 0; i < COUNT; i++)
        qsort(indices + offsets[i], offsets[i + 1] - offsets[i], sizeof *indices, ascending);
    must(memcmp(indices, ropewalk_lists_indices(lists), total * sizeof *indices) == 0, "indices");
    uint64_t pairs;
    done(ropewalk_cuda_tree_count_pairs(there, radius, &pairs), "ropewalk_cuda_tree_count_pairs");
    must(pairs == (total - COUNT) / 2, "pairs");
    free(offsets);
    free(indices);
    ropewalk_lists_free(lists);
    ropewalk_cuda_lists_free(found);
    must(ropewalk_cuda_tree_neighbors(there, -1.0, &found) == ROPEWALK_INVALID && found == NULL, "a negative radius");
}

static void nearest(const ropewalk_points *host, const ropewalk_tree *tree, const ropewalk_cuda_tree *there)
{
    ropewalk_lists *lists;
    ropewalk_cuda_lists *found;
    done(ropewalk_tree_nearest(tree, host, K + 1, 1e30, &lists), "ropewalk_tree_nearest");
    done(ropewalk_cuda_tree_nearest(there, K, &found), "ropewalk_cuda_tree_nearest");
    must(ropewalk_cuda_lists_total(found) == COUNT * K && ropewalk_cuda_lists_offsets(found) == NULL, "sizes of rows");
    uint32_t *indices = copied(ropewalk_cuda_lists_indices(found), COUNT * K * sizeof *indices);
    double *distances = copied(ropewalk_cuda_lists_distances(found), COUNT * K * sizeof *distances);
    for (uint64_t i = 0; i < COUNT; i++) {
        /* No two points are equal, so the first in a list of the CPU is the point itself. */
        uint64_t first = ropewalk_lists_offsets(lists)[i] + 1;
        must(memcmp(indices + K * i, ropewalk_lists_indices(lists) + first, K * sizeof *indices) == 0, "nearest points");
        must(memcmp(distances + K * i, ropewalk_lists_distances(lists) + first, K * sizeof *distances) == 0, "distances");
    }
    free(indices);
    free(distances);
    ropewalk_lists_free(lists);
    ropewalk_cuda_lists_free(found);
    must(ropewalk_cuda_tree_nearest(there, COUNT, &found) == ROPEWALK_INVALID, "more neighbours than points");
}

static void clusters(const ropewalk_points *host, const ropewalk_points *device, const double *box)
{
    ropewalk_points_dbscan_options options = {0.03, 6, box};
    ropewalk_result *result;
    ropewalk_cuda_labels *labels;
    done(ropewalk_points_dbscan(host, &options, &result), "ropewalk_points_dbscan");
    done(ropewalk_cuda_dbscan(device, &options, &labels), "ropewalk_cuda_dbscan");
    must(ropewalk_cuda_labels_count(labels) == COUNT, "the number of labels");
    must(ropewalk_cuda_labels_clusters(labels) == ropewalk_result_clusters(result), "the number of clusters");
    int32_t *found = copied(ropewalk_cuda_labels_data(labels), COUNT * sizeof *found);
    for (uint64_t i = 0; i < COUNT; i++)
        must(found[i] == ropewalk_result_labels(result)[i], "labels");
    free(found);
    ropewalk_result_free(result);
    ropewalk_cuda_labels_free(labels);
}

int main(void)
{
    static float values[3 * COUNT];
    uint64_t state = 1;
    for (size_t i = 0; i < 3 * COUNT; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)(state >> 40) * 0x1p-24f;
    }
    ropewalk_points host = {values, COUNT, 0, 3, ROPEWALK_F32};
    if (!ropewalk_cuda_built()) {
        without_cuda(&host);
        return 0;
    }
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    must(driver != NULL, "libcuda.so.1 cannot be loaded");
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*current)(void *);
    int (*allocate)(unsigned long long *, size_t), (*to_device)(unsigned long long, const void *, size_t);
    load("cuInit", &init);
    load("cuDeviceGet", &get);
    load("cuDevicePrimaryCtxRetain", &retain);
    load("cuCtxSetCurrent", &current);
    load("cuMemAlloc_v2", &allocate);
    load("cuMemcpyHtoD_v2", &to_device);
    load("cuMemcpyDtoH_v2", &to_host);
    int device;
    void *context;
    unsigned long long address;
    done(init(0), "cuInit");
    done(get(&device, 0), "cuDeviceGet");
    done(retain(&context, device), "cuDevicePrimaryCtxRetain");
    done(current(context), "cuCtxSetCurrent");
    done(allocate(&address, sizeof values), "cuMemAlloc");
    done(to_device(address, values, sizeof values), "cuMemcpyHtoD");
    ropewalk_points there = {(const void *)(uintptr_t)address, COUNT, 0, 3, ROPEWALK_F32};
    const double box[3] = {1.0, 1.0, 1.0};
    const double *boxes[2] = {NULL, box};
    for (int i = 0; i < 2; i++) {
        ropewalk_tree *tree;
        ropewalk_cuda_tree *on_device;
        done(ropewalk_tree_build(&host, boxes[i], &tree), "ropewalk_tree_build");
        done(ropewalk_cuda_tree_build(&there, boxes[i], &on_device), "ropewalk_cuda_tree_build");
        must(ropewalk_cuda_tree_count(on_device) == COUNT, "the number of points");
        neighbors(&host, tree, on_device, 0.05);
        nearest(&host, tree, on_device);
        clusters(&host, &there, boxes[i]);
        ropewalk_tree_free(tree);
        ropewalk_cuda_tree_free(on_device);
    }
    ropewalk_cuda_tree *none;
    must(ropewalk_cuda_tree_build(&host, NULL, &none) == ROPEWALK_INVALID && none == NULL, "points in host memory");
    there.stride = 16;
    must(ropewalk_cuda_tree_build(&there, NULL, &none) == ROPEWALK_INVALID, "points with gaps");
    puts("equal to the CPU");
    return 0;
}
