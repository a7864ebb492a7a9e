/*
 * Searches in C: neighbours within a radius, nearest neighbours, a callback that ends a search, and rays on a mesh.
 * CMakeLists.txt in this folder builds it with an installed library.
 */
#include <math.h>
#include <stdio.h>

#include "ropewalk_mesh.h"
#include "ropewalk_points.h"

/* A record of the program. The tree reads positions from an array of records. */
struct star {
    char name[8];
    float position[2];
};

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, ropewalk_error_message());
    return 1;
}

/* Stores the first neighbour that is not the centre itself. */
static int first_other(void *context, uint64_t center, uint32_t point) {
    if (point == center) return ROPEWALK_CONTINUE;
    ((int64_t *)context)[center] = point;
    return ROPEWALK_NEXT_CENTER;
}

static int search_points(const struct star *stars, uint64_t count) {
    const ropewalk_points points = {
        .data = stars[0].position, .count = count, .stride = sizeof(struct star), .dim = 2, .type = ROPEWALK_F32};
    const double box[2] = {10.0, 10.0}, radius = 1.0;
    ropewalk_tree *tree;
    if (ropewalk_tree_build(&points, box, &tree) != ROPEWALK_OK) return fail("ropewalk_tree_build");

    ropewalk_lists *near, *nearest;
    if (ropewalk_tree_query(tree, &points, &radius, 1, &near) != ROPEWALK_OK) return fail("ropewalk_tree_query");
    if (ropewalk_tree_nearest(tree, &points, 2, INFINITY, &nearest) != ROPEWALK_OK) return fail("ropewalk_tree_nearest");
    int64_t others[4] = {-1, -1, -1, -1};
    if (ropewalk_tree_visit(tree, &points, &radius, 1, first_other, others) != ROPEWALK_OK) return fail("ropewalk_tree_visit");

    for (uint64_t i = 0; i < count; i++) {
        printf("%s: within 1:", stars[i].name);
        const uint64_t *offsets = ropewalk_lists_offsets(near);
        for (uint64_t at = offsets[i]; at < offsets[i + 1]; at++) printf(" %s", stars[ropewalk_lists_indices(near)[at]].name);
        const uint64_t second = ropewalk_lists_offsets(nearest)[i] + 1;
        printf("; nearest: %s at %.3f", stars[ropewalk_lists_indices(nearest)[second]].name,
               ropewalk_lists_distances(nearest)[second]);
        printf("; %s\n", others[i] < 0 ? "alone" : "not alone");
    }
    ropewalk_lists_free(nearest);
    ropewalk_lists_free(near);
    ropewalk_tree_free(tree);
    return 0;
}

static int cast_rays(void) {
    const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    const uint32_t faces[2][3] = {{0, 1, 2}, {0, 2, 3}};
    const ropewalk_points vertices = {.data = corners, .count = 4, .dim = 3, .type = ROPEWALK_F64};
    ropewalk_mesh *mesh;
    if (ropewalk_mesh_build(&vertices, faces[0], 2, &mesh) != ROPEWALK_OK) return fail("ropewalk_mesh_build");
    /* The second ray misses the square, the third ends before it. */
    const ropewalk_ray rays[3] = {
        {.origin = {0.25, 0.75, 2}, .direction = {0, 0, -1}},
        {.origin = {1.25, 0.75, 2}, .direction = {0, 0, -1}},
        {.origin = {0.25, 0.75, 2}, .direction = {0, 0, -1}, .to = 1.5},
    };
    ropewalk_hit hits[3];
    uint8_t any[3];
    if (ropewalk_mesh_first_hits(mesh, rays, 3, hits) != ROPEWALK_OK) return fail("ropewalk_mesh_first_hits");
    if (ropewalk_mesh_any_hits(mesh, rays, 3, any) != ROPEWALK_OK) return fail("ropewalk_mesh_any_hits");
    for (int i = 0; i < 3; i++) {
        if (hits[i].triangle == ROPEWALK_NO_TRIANGLE) printf("ray %d: no hit (%d)\n", i, any[i]);
        else printf("ray %d: triangle %d at t = %.1f (%d)\n", i, (int)hits[i].triangle, hits[i].t, any[i]);
    }
    ropewalk_mesh_free(mesh);
    return 0;
}

int main(void) {
    if (ropewalk_abi_version() != ROPEWALK_ABI_VERSION) {
        fprintf(stderr, "the library has another interface version than ropewalk.h\n");
        return 1;
    }
    const struct star stars[4] = {{"A", {0.5f, 5.0f}}, {"B", {9.75f, 5.0f}}, {"C", {3.0f, 3.0f}}, {"D", {9.75f, 5.5f}}};
    return search_points(stars, 4) || cast_rays();
}
