/*
 * Halos and clusters of the particles of a running simulation: friends of friends, HOP, DBSCAN, a catalogue of halos,
 * and overdense spheres. Searches and clusters of points in 1 to 10 dimensions are in ropewalk_points.h. Rays on
 * triangle meshes are in ropewalk_mesh.h, points in the memory of a GPU in ropewalk_cuda.h, and ropewalk.hpp is the
 * interface in C++17.
 *
 * Each rank passes its own particles, as they are in memory, and gets a label for each of them, in the same order.
 * Labels and halos are those that one process finds among the particles of all ranks, for any number of ranks. The
 * particles are not written to, and must not change during a call.
 *
 * Ranks: ropewalk_fof, ropewalk_hop and ropewalk_dbscan are collective. All ranks of the communicator call them, in the
 * same order and with the same options. An error on one rank is an error on all ranks, with three exceptions:
 *
 * - an invalid communicator (a rank that is not below its size, a function that is NULL) is an error on that rank
 *   only
 * - an error that a function of the communicator returns
 * - ROPEWALK_BUG
 *
 * In these cases the other ranks may wait for this one, so that the program should end (MPI_Abort).
 *
 * Memory: if there is not enough memory for a copy of the particles, all ranks return ROPEWALK_MEMORY. If there is
 * not enough for the calculation, the process ends; with a NULL communicator the call returns ROPEWALK_MEMORY
 * instead.
 *
 * Threads: a call uses several threads. Their number is that of ropewalk_set_threads, or of the environment variable
 * RAYON_NUM_THREADS, or one per processor. OMP_NUM_THREADS has no effect. The communicator is called from the
 * caller's thread only.
 *
 * Defaults: members of structures that are zero mean no velocities, open space, no catalogue, and so on. Lengths that
 * have no default, such as linking_length, must be positive.
 *
 * Ownership: the caller frees each object that a function stores in its last argument (`ropewalk_result **`), by the
 * function whose name ends in _free. If a function fails, it stores NULL there.
 *
 * Versions: a program that was compiled with another version of this header than the library must not call it, because
 * structures may differ. Compare ROPEWALK_ABI_VERSION with ropewalk_abi_version() before the first call. ropewalk.hpp
 * does so.
 */
#ifndef ROPEWALK_H
#define ROPEWALK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the structures and functions of ropewalk.h, ropewalk_points.h, ropewalk_mesh.h and ropewalk_cuda.h. It
   rises with each incompatible change. */
#define ROPEWALK_ABI_VERSION 1

/* The status that a function returns. */
enum {
    ROPEWALK_OK = 0,
    /* Invalid particles or options, on this rank or on another. */
    ROPEWALK_INVALID = 1,
    /* There is not enough memory. */
    ROPEWALK_MEMORY = 2,
    /* A function of the communicator has returned an error, on this rank or on another. */
    ROPEWALK_COMMUNICATION = 3,
    /* A bug of this library. */
    ROPEWALK_BUG = 4
};

/* The type of numbers in memory, in native byte order. */
enum { ROPEWALK_F32 = 1, ROPEWALK_F64 = 2, ROPEWALK_U32 = 3, ROPEWALK_U64 = 4 };

/* The operation of all_reduce: sum modulo 2^64, minimum, maximum. */
enum { ROPEWALK_SUM = 0, ROPEWALK_MIN = 1, ROPEWALK_MAX = 2 };

/* The ranks that get the rows of the catalogue. */
enum {
    /* No catalogue. */
    ROPEWALK_NO_ROWS = 0,
    /* Each row is on one rank, the owner of the halo. */
    ROPEWALK_ROWS_OF_OWNERS = 1,
    /* All rows are on rank 0. */
    ROPEWALK_ROWS_ON_RANK_0 = 2
};

/* The centre of a halo, in addition to its centre of mass. */
enum {
    ROPEWALK_NO_CENTER = 0,
    /* The member with the lowest potential. The Plummer softening length is fof_options.softening. */
    ROPEWALK_MOST_BOUND = 1,
    /* The member with the most other members within the linking length. */
    ROPEWALK_MOST_CONNECTED = 2,
    /* The centre of mass within a shrinking sphere. */
    ROPEWALK_SHRINKING_SPHERE = 3
};

/*
 * Communication between ranks, by functions of the simulation that get `context`. ropewalk_mpi.h has them for MPI.
 * All ranks call them in the same order. They return 0, or an error number that ropewalk_error_message reports.
 * Counts are in bytes, and may exceed 2^31. If the counts of a buffer add up to 0, its pointer is NULL.
 */
typedef struct ropewalk_communicator {
    void *context;
    uint64_t rank;
    uint64_t size;
    /* Sends sent[rank] bytes of `send` to each rank, in rank order without gaps. Stores the received[rank] bytes from
       each rank in `receive`, in rank order without gaps. */
    int (*all_to_all_v)(void *context, const void *send, const uint64_t *sent, void *receive, const uint64_t *received);
    /* Concatenates the bytes of all ranks in `receive`, in rank order. The bytes of this rank are at `own`;
       counts[rank] is the number of bytes of each rank. */
    int (*all_gather_v)(void *context, const void *own, void *receive, const uint64_t *counts);
    /* Replaces each of `count` numbers by the reduction of the numbers at this index on all ranks. */
    int (*all_reduce)(void *context, uint64_t *numbers, uint64_t count, uint32_t reduction);
} ropewalk_communicator;

/*
 * A number for each particle. The first is at `data`, and the next ones follow at a distance of `stride` bytes. A
 * stride of 0 means no gaps. `data` is NULL if there are no numbers.
 */
typedef struct ropewalk_numbers {
    const void *data;
    uint64_t stride;
    uint32_t type;
} ropewalk_numbers;

/*
 * Three numbers for each particle, ROPEWALK_F32 or ROPEWALK_F64. If y and z are NULL, the three numbers of a particle
 * are contiguous, and x points to those of the first particle. Otherwise x, y and z are three arrays. Particles
 * follow at a distance of `stride` bytes, such as sizeof(struct particle). A stride of 0 means no gaps. x, y and z
 * are NULL if there are no numbers.
 *
 * Contiguous positions without gaps are not copied; all others are copied once.
 */
typedef struct ropewalk_vectors {
    const void *x;
    const void *y;
    const void *z;
    uint64_t stride;
    uint32_t type;
} ropewalk_vectors;

/* The particles of this rank, possibly none. Velocities, masses and ids must each come from all ranks with particles,
   or from none. */
typedef struct ropewalk_particles {
    uint64_t count;
    /* The type must be the same on all ranks, including those without particles. */
    ropewalk_vectors positions;
    ropewalk_vectors velocities;
    /* ROPEWALK_F32 or ROPEWALK_F64. Without masses each particle has the mass `mass`. */
    ropewalk_numbers masses;
    /* 0 means 1. */
    double mass;
    /* ROPEWALK_U32 or ROPEWALK_U64. Without ids particles are numbered from 0, by rank and then in their order on the
       rank. */
    ropewalk_numbers ids;
} ropewalk_particles;

/* Options of friends of friends. Lengths are in the unit of the positions, and inclusive. */
typedef struct ropewalk_fof_options {
    /* Positive. A common choice is 0.2 * cbrt(volume / number of particles of all ranks). */
    double linking_length;
    /* The minimum number of members of a halo; 0 means 2. */
    uint64_t min_members;
    /* The sides of the periodic box, each at least twice the linking length; zeros mean open space. A catalogue needs
       a cube. The particles of all ranks may have any origin, but must not span more than a side. */
    double box_size[3];
    /* ROPEWALK_NO_ROWS, ROPEWALK_ROWS_OF_OWNERS or ROPEWALK_ROWS_ON_RANK_0. */
    uint32_t rows;
    /* ROPEWALK_NO_CENTER, ROPEWALK_MOST_BOUND, ROPEWALK_MOST_CONNECTED or ROPEWALK_SHRINKING_SPHERE. */
    uint32_t center;
    double softening;
} ropewalk_fof_options;

/* Options of HOP (Eisenstein and Hut 1998). Densities are in units of the mean density. That is the mass of the particles
   of all ranks over the volume of the periodic box; in open space, of the box around them. */
typedef struct ropewalk_hop_options {
    /* The density to which halos extend, positive. 80 is usual. */
    double delta_outer;
    /* Groups merge if the density of their boundary is at least delta_saddle. 0 means 2.5 delta_outer. */
    double delta_saddle;
    /* A group needs a particle of at least this density. 0 means 3 delta_outer. */
    double delta_peak;
    /* The number of neighbours for a density (the particle itself included), for a hop, and for the boundaries between
       groups. 0 means 64, 64 and 4. */
    uint64_t n_density;
    uint64_t n_hop;
    uint64_t n_merge;
    /* The minimum number of members of a halo; 0 means 10. */
    uint64_t min_members;
    /* The sides of the periodic box, all equal; zeros mean open space. */
    double box_size[3];
    /* As in ropewalk_fof_options. The linking length of the most connected particle is 0.2 mean separations. */
    uint32_t rows;
    uint32_t center;
    double softening;
} ropewalk_hop_options;

/* Options of DBSCAN. Lengths are in the unit of the positions, and inclusive. */
typedef struct ropewalk_dbscan_options {
    double eps;
    /* The minimum number of particles within eps of a core particle, itself included. 0 is an error. */
    uint64_t min_samples;
    /* The sides of the periodic box, each at least twice eps; zeros mean open space. The particles of all ranks may
       have any origin, but must not span more than a side. */
    double box_size[3];
} ropewalk_dbscan_options;

/* A row of the catalogue. Units are those of the particles. Unknown numbers are NaN. */
typedef struct ropewalk_halo {
    /* The minimum id of the members. */
    uint64_t tag;
    /* The label of the members. */
    int64_t label;
    uint64_t count;
    double mass;
    double center_of_mass[3];
    /* The mean velocity, weighted by mass, and the one-dimensional velocity dispersion. */
    double velocity[3];
    double velocity_dispersion;
    /* Distances of the members from the centre of mass: root mean square, weighted by mass, and maximum. */
    double rms_radius;
    double max_radius;
    /* The centre of the options, and the id of its particle; 2^64 - 1 if the centre is not a particle. */
    double center[3];
    uint64_t center_id;
} ropewalk_halo;

/* The result of a call. */
typedef struct ropewalk_result ropewalk_result;

/*
 * Finds friends-of-friends halos. A NULL communicator means a single rank. `*result` is NULL unless ROPEWALK_OK is
 * returned. The caller frees it with ropewalk_result_free. It does not refer to the particles.
 *
 * Memory: 50 to 60 bytes per particle and ghost particle near the borders of ranks, in addition to the positions,
 * which are sent to the rank of their region. The result holds 8 bytes per particle. With a catalogue, all columns of
 * a halo's members are sent to its owner.
 */
int ropewalk_fof(const ropewalk_communicator *ranks, const ropewalk_particles *particles,
                 const ropewalk_fof_options *options, ropewalk_result **result);

/* Finds the halos of HOP. As ropewalk_fof; the masses of the particles determine their densities. */
int ropewalk_hop(const ropewalk_communicator *ranks, const ropewalk_particles *particles,
                 const ropewalk_hop_options *options, ropewalk_result **result);

/* Finds the clusters of DBSCAN. As ropewalk_fof, but uses only the positions of the particles. */
int ropewalk_dbscan(const ropewalk_communicator *ranks, const ropewalk_particles *particles,
                    const ropewalk_dbscan_options *options, ropewalk_result **result);

/*
 * The parts of a result. Pointers are valid until it is freed. For a NULL result the functions return 0 or NULL.
 */

/* The number of particles of this rank. */
uint64_t ropewalk_result_count(const ropewalk_result *result);

/* The label of each particle, -1 for none. Groups too small for a halo have labels, too. */
const int64_t *ropewalk_result_labels(const ropewalk_result *result);

/* 1 for each core particle of DBSCAN, 0 for the other particles; NULL for other functions. */
const uint8_t *ropewalk_result_core(const ropewalk_result *result);

/* The density of each particle in units of the mean density, for HOP; NULL for other functions. */
const double *ropewalk_result_density(const ropewalk_result *result);

/* The membership probability of each point and its outlier score (GLOSH), both from 0 to 1, for HDBSCAN*. Noise has a
   probability of 0. NULL for other functions. */
const double *ropewalk_result_probabilities(const ropewalk_result *result);
const double *ropewalk_result_outlier_scores(const ropewalk_result *result);

/* The number of clusters or groups on all ranks. Labels range from 0 to one less. */
uint64_t ropewalk_result_clusters(const ropewalk_result *result);

/* The number of halos on all ranks; the number of clusters for DBSCAN and HDBSCAN*. */
uint64_t ropewalk_result_halos(const ropewalk_result *result);

/* The rows of the catalogue on this rank, largest first, ties by tag, and their number. */
const ropewalk_halo *ropewalk_result_rows(const ropewalk_result *result);
uint64_t ropewalk_result_row_count(const ropewalk_result *result);

/* Frees a result. Does nothing for NULL. */
void ropewalk_result_free(ropewalk_result *result);

/* Options of spheres about centres. */
typedef struct ropewalk_sphere_options {
    /* Mean densities at which spheres end, positive, in the units of the particles (mass over length cubed), such as 200
       times the critical density. There must be at least one. */
    const double *thresholds;
    uint64_t threshold_count;
    /* The sides of the periodic box; zeros mean open space. The particles must not span more than a side. */
    double box_size[3];
} ropewalk_sphere_options;

/* The state of a sphere. */
enum {
    ROPEWALK_SPHERE_FOUND = 0,
    /* The mean density is below the threshold already at the particle nearest to the centre. */
    ROPEWALK_SPHERE_NOT_DENSE = 1,
    /* The mean density does not fall to the threshold within half of the shortest side of the periodic box. */
    ROPEWALK_SPHERE_BEYOND_HALF_BOX = 2
};

/* The sphere about a centre at whose radius the mean density within falls to a threshold: 3 mass / (4 pi radius^3) =
   threshold. */
typedef struct ropewalk_sphere {
    /* NaN without a sphere. */
    double mass;
    double radius;
    /* The number of particles within the radius; 0 without a sphere. */
    uint64_t count;
    /* ROPEWALK_SPHERE_FOUND, ROPEWALK_SPHERE_NOT_DENSE or ROPEWALK_SPHERE_BEYOND_HALF_BOX. */
    uint32_t status;
} ropewalk_sphere;

/*
 * Finds the spheres about centres: center_count rows of x, y and z at `centers`, without gaps. Stores a row for each
 * centre at `spheres`, with a sphere for each threshold: the one of threshold t about centre c is at
 * c * threshold_count + t. The caller provides memory for center_count * threshold_count spheres.
 *
 * Uses the positions and masses of the particles; all count, in halos or not. Not collective: only the particles of
 * this process count.
 */
int ropewalk_spheres(const ropewalk_particles *particles, const double *centers, uint64_t center_count,
                     const ropewalk_sphere_options *options, ropewalk_sphere *spheres);

/* The error message of the last call on this thread that failed. It is valid until the next call on this thread. */
const char *ropewalk_error_message(void);

/* Sets the number of threads of this process. It is an error after the first calculation, and after an earlier call.
   Not collective. */
int ropewalk_set_threads(uint32_t threads);

/* The version of this library, such as "0.1.0". */
const char *ropewalk_version(void);

/* The ROPEWALK_ABI_VERSION of the headers that this library was built with. */
uint32_t ropewalk_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif
