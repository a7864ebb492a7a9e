/*
 * Rays on triangle meshes: the first hit, or whether there is any hit.
 *
 * Statuses, error messages, threads, ownership and versions are those of ropewalk.h. Edges and corners belong to all
 * triangles that have them: rays do not pass between triangles that share an edge or a corner. Both sides of a triangle
 * can be hit. A triangle without area, or in whose plane the ray lies, is never hit.
 */
#ifndef ROPEWALK_MESH_H
#define ROPEWALK_MESH_H

#include "ropewalk.h"
#include "ropewalk_points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A triangle mesh. Several threads may query it at the same time. */
typedef struct ropewalk_mesh ropewalk_mesh;

/* The points origin + t * direction for t from `from` to `to`, both inclusive. t is in units of the direction, which need
   not have length 1. If `from` and `to` are both 0, the ray has no end. */
typedef struct ropewalk_ray {
    double origin[3];
    double direction[3];
    double from;
    double to;
} ropewalk_ray;

/* The triangle of a ray without a hit. */
#define ROPEWALK_NO_TRIANGLE UINT32_MAX

/* The hit of a ray on a triangle. */
typedef struct ropewalk_hit {
    /* The parameter of the hit on the ray; INFINITY without a hit. */
    double t;
    /* The weights of the corners of the triangle, whose sum is 1; NaN without a hit. */
    double weights[3];
    /* The index of the triangle, or ROPEWALK_NO_TRIANGLE. */
    uint32_t triangle;
} ropewalk_hit;

/*
 * Builds a mesh of `face_count` triangles from points of dimension 3. `faces` has three indices of vertices for each
 * triangle, without gaps. The mesh copies the vertices, in 64 bits. The caller frees it with ropewalk_mesh_free.
 */
int ropewalk_mesh_build(const ropewalk_points *vertices, const uint32_t *faces, uint64_t face_count,
                        ropewalk_mesh **mesh);

/* Frees a mesh. Does nothing for NULL. */
void ropewalk_mesh_free(ropewalk_mesh *mesh);

/* The number of triangles; 0 for NULL. */
uint64_t ropewalk_mesh_face_count(const ropewalk_mesh *mesh);

/* Stores the hit of each ray with the lowest t, ties by index of the triangle. The caller provides memory for a hit per
   ray. Origins and directions must be finite, directions not zero, and `from` at most `to`. */
int ropewalk_mesh_first_hits(const ropewalk_mesh *mesh, const ropewalk_ray *rays, uint64_t ray_count,
                             ropewalk_hit *hits);

/* Stores 1 for each ray that hits a triangle, else 0: for shadows and lines of sight. The caller provides memory for a
   byte per ray. As ropewalk_mesh_first_hits, but a search ends at any hit. */
int ropewalk_mesh_any_hits(const ropewalk_mesh *mesh, const ropewalk_ray *rays, uint64_t ray_count, uint8_t *is_hit);

#ifdef __cplusplus
}
#endif

#endif
