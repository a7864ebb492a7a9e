/*
 * Halos and clusters of the particles of a running simulation: friends of friends, DBSCAN, and a catalogue of halos.
 *
 * Each rank hands over its own particles, as they lie in memory, and gets a label for each of them, in their order. Labels and halos are
 * those that one process finds among the particles of all ranks, for any number of ranks. Nothing is written to the particles, which
 * must not change during a call.
 *
 * ropewalk_fof and ropewalk_dbscan are collective: all ranks of the communicator call them, in the same order and with the same options.
 * What one rank refuses is an error on all. The exceptions are a communicator that is refused (a rank that is not below its size, a function
 * that is NULL), which is refused on that rank alone, an error that a communicator's function returns, and ROPEWALK_BUG: then the other
 * ranks may be waiting for this one, so that the program should end (MPI_Abort). Without memory for a copy of the particles all ranks
 * return ROPEWALK_MEMORY; where there is none for the calculation, the process ends.
 *
 * A call computes with several threads, OMP_NUM_THREADS notwithstanding: as many as ropewalk_set_threads or the environment's
 * RAYON_NUM_THREADS says, or one for each processor. The communicator is called from the caller's thread alone.
 *
 * Structures set to zero where nothing else is said mean what is usual: no velocities, open space, no catalogue.
 */
#ifndef ROPEWALK_H
#define ROPEWALK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What calls return. */
enum {
    ROPEWALK_OK = 0,
    /* Particles or options that are refused, on this rank or on another. */
    ROPEWALK_REFUSED = 1,
    /* There is not enough memory for a copy of the particles. */
    ROPEWALK_MEMORY = 2,
    /* A function of the communicator has returned other than 0, here or on another rank. */
    ROPEWALK_COMMUNICATION = 3,
    /* A bug of this library. */
    ROPEWALK_BUG = 4
};

/* The type of numbers in memory, in the machine's byte order. */
enum { ROPEWALK_F32 = 1, ROPEWALK_F64 = 2, ROPEWALK_U32 = 3, ROPEWALK_U64 = 4 };

/* What ranks ask of all_reduce: the sum modulo 2^64, the least, the largest. */
enum { ROPEWALK_SUM = 0, ROPEWALK_MIN = 1, ROPEWALK_MAX = 2 };

/* Where the rows of the catalogue go. */
enum {
    /* There is no catalogue. */
    ROPEWALK_NO_ROWS = 0,
    /* Each row to one rank, which owns the halo. */
    ROPEWALK_ROWS_OF_OWNERS = 1,
    /* All rows to rank 0. */
    ROPEWALK_ROWS_ON_RANK_0 = 2
};

/* The centre of a halo, beside its centre of mass. */
enum {
    ROPEWALK_NO_CENTER = 0,
    /* The member with the lowest potential of all members, softened by fof_options.softening (Plummer). */
    ROPEWALK_MOST_BOUND = 1,
    /* The member with the most others within the linking length. */
    ROPEWALK_MOST_CONNECTED = 2,
    /* The centre of mass within a shrinking sphere. */
    ROPEWALK_SHRINKING_SPHERE = 3
};

/*
 * How ranks talk: the simulation's own functions, which get `context`. ropewalk_mpi.h has them for MPI. All ranks call them in the same
 * order. They return 0, or a number that ropewalk_error_message tells. Counts are bytes, and may be beyond 2^31; where there are none in all,
 * the pointer to them is NULL.
 */
typedef struct ropewalk_communicator {
    void *context;
    uint64_t rank;
    uint64_t size;
    /* Sends each rank its stretch of `send`, sent[rank] bytes long and one after the other; puts what comes from each into `receive`
       likewise. */
    int (*all_to_all_v)(void *context, const void *send, const uint64_t *sent, void *receive, const uint64_t *received);
    /* Puts the bytes of all ranks into `receive`, one after the other; counts[rank] is how many each has, this one at `own`. */
    int (*all_gather_v)(void *context, const void *own, void *receive, const uint64_t *counts);
    /* Makes each of `count` numbers what the reduction makes of those of all ranks at its place. */
    int (*all_reduce)(void *context, uint64_t *numbers, uint64_t count, uint32_t reduction);
} ropewalk_communicator;

/*
 * A number for each particle: the first is at `data`, the others `stride` bytes after one another; 0 is for numbers side by side.
 * NULL if there are none.
 */
typedef struct ropewalk_numbers {
    const void *data;
    uint64_t stride;
    uint32_t type;
} ropewalk_numbers;

/*
 * Three numbers for each particle, ROPEWALK_F32 or ROPEWALK_F64. If y and z are NULL, the three are side by side, and x is the first
 * particle's; otherwise x, y and z are three arrays. Particles are `stride` bytes after one another, as sizeof(struct particle); 0 is for
 * arrays without gaps. x, y and z NULL if there are none.
 *
 * Positions side by side without gaps are not copied; all others are, once.
 */
typedef struct ropewalk_vectors {
    const void *x;
    const void *y;
    const void *z;
    uint64_t stride;
    uint32_t type;
} ropewalk_vectors;

/* The particles of this rank, any number of them. What some ranks have all must have; those without particles need not. */
typedef struct ropewalk_particles {
    uint64_t count;
    /* The same type on all ranks, also on those without particles. */
    ropewalk_vectors positions;
    ropewalk_vectors velocities;
    /* ROPEWALK_F32 or ROPEWALK_F64; if there are none, the mass of each is `mass`. */
    ropewalk_numbers masses;
    /* 0 for 1. */
    double mass;
    /* ROPEWALK_U32 or ROPEWALK_U64. Without ids particles are numbered by rank, and on each rank in their order. */
    ropewalk_numbers ids;
} ropewalk_particles;

/* Lengths are in the unit of the positions, and inclusive. */
typedef struct ropewalk_fof_options {
    /* Often 0.2 * cbrt(volume / particles of all ranks). */
    double linking_length;
    /* The least number of members of a halo; 0 for 2. */
    uint64_t min_members;
    /* The sides of a periodic box, each at least twice the linking length; zeros for open space. A catalogue needs a cube. The particles of
       all ranks may have any origin, but span no more than a side. */
    double box_size[3];
    /* ROPEWALK_NO_ROWS, ROPEWALK_ROWS_OF_OWNERS or ROPEWALK_ROWS_ON_RANK_0. */
    uint32_t rows;
    /* ROPEWALK_NO_CENTER, ... */
    uint32_t center;
    double softening;
} ropewalk_fof_options;

typedef struct ropewalk_dbscan_options {
    double eps;
    /* A particle is core if so many, itself included, are within eps; 0 is refused. */
    uint64_t min_pts;
    /* The sides of a periodic box, each at least twice eps; zeros for open space. The particles of all ranks may have any origin, but span
       no more than a side. */
    double box_size[3];
} ropewalk_dbscan_options;

/* A halo. Units are those of the particles. Numbers that are not known are NaN. */
typedef struct ropewalk_halo {
    /* The least id of its members. */
    uint64_t tag;
    /* What its members have for a label. */
    int64_t label;
    uint64_t count;
    double mass;
    double center_of_mass[3];
    /* Weighted by mass; the dispersion is the one-dimensional one. */
    double velocity[3];
    double velocity_dispersion;
    /* Distances of the members from the centre of mass: root mean square by mass, and the largest. */
    double rms_radius;
    double max_radius;
    /* The centre that was asked for, and the id of the particle that is it; 2^64 - 1 if none is. */
    double center[3];
    uint64_t center_id;
} ropewalk_halo;

/* What a call has found. */
typedef struct ropewalk_result ropewalk_result;

/*
 * Friends-of-friends halos. A NULL communicator is one rank alone. `*result` is NULL unless ROPEWALK_OK is returned. It is freed by
 * ropewalk_result_free, and holds no part of the particles.
 *
 * Memory: 50 to 60 bytes a particle and its copies near the borders of ranks, beside the positions, which go to a rank of their region;
 * 8 bytes a particle stay in the result. With a catalogue, all that is known of a halo's members goes to its owner.
 */
int ropewalk_fof(const ropewalk_communicator *ranks, const ropewalk_particles *particles,
                 const ropewalk_fof_options *options, ropewalk_result **result);

/* DBSCAN. As ropewalk_fof; of the particles only positions are used. */
int ropewalk_dbscan(const ropewalk_communicator *ranks, const ropewalk_particles *particles,
                    const ropewalk_dbscan_options *options, ropewalk_result **result);

/*
 * What is in a result; pointers hold until it is freed. Of NULL all is 0 or NULL.
 */

/* How many particles this rank gave. */
uint64_t ropewalk_result_count(const ropewalk_result *result);

/* A label for each, -1 for none. Friends of friends have one also in groups of fewer members than a halo has at least. */
const int64_t *ropewalk_result_labels(const ropewalk_result *result);

/* 1 for each core particle of DBSCAN, else 0; NULL for friends of friends. */
const uint8_t *ropewalk_result_core(const ropewalk_result *result);

/* Labels of all ranks are from 0 to one less. */
uint64_t ropewalk_result_clusters(const ropewalk_result *result);

/* Halos of all ranks; clusters of DBSCAN. */
uint64_t ropewalk_result_halos(const ropewalk_result *result);

/* Rows of the catalogue on this rank, largest first, ties by tag. */
const ropewalk_halo *ropewalk_result_rows(const ropewalk_result *result);
uint64_t ropewalk_result_row_count(const ropewalk_result *result);

/* Frees a result; NULL is let pass. */
void ropewalk_result_free(ropewalk_result *result);

/* Why the last call on this thread that was not ROPEWALK_OK failed, in a sentence that holds until the next call on it. */
const char *ropewalk_error_message(void);

/* How many threads this process computes with. Refused after the first calculation, and if it was called before. Not collective. */
int ropewalk_set_threads(uint32_t threads);

/* The version of this library, as "0.1.0". */
const char *ropewalk_version(void);

#ifdef __cplusplus
}
#endif

#endif
