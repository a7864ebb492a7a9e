/*
 * A simulation that finds halos while it runs: clumps of particles drift towards each other in a periodic box and
 * merge.
 *
 *     cargo build --release --package ropewalk-capi
 *     mpicc -O2 -Icapi/include capi/examples/in_situ.c -o in_situ -Ltarget/release -lropewalk -Wl,-rpath,$PWD/target/release -lm
 *     mpirun -n 3 ./in_situ
 *
 * The output is the same for any number of ranks.
 */
#include <math.h>
#include <stdio.h>

#include "ropewalk_mpi.h"

enum { CLUMPS = 6, PER_CLUMP = 800, PARTICLES = CLUMPS * PER_CLUMP, STEPS = 3 };
static const double side = 100.0;

/* The particle of the simulation, in a layout of its own. */
struct particle {
    uint64_t id;
    double position[3];
    float velocity[3];
    float mass;
};

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, ropewalk_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A random number from 0 to 1: SplitMix64 (Steele et al. 2014). */
static double uniform(uint64_t seed) {
    uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* A particle of one of six clumps: three on each side of the boundary of the box, which move towards it. */
static struct particle particle(uint64_t index) {
    struct particle p = {.id = 1000000 + index, .mass = index % 2 ? 1.0f : 3.0f};
    const uint64_t clump = index / PER_CLUMP;
    const double center[3] = {clump % 2 ? 6.0 : 94.0, 20.0 + 30.0 * (double)(clump / 2), 50.0};
    double direction[3], length = 0.0;
    for (int k = 0; k < 3; k++) {
        direction[k] = uniform(4 * index + (uint64_t)k) - 0.5;
        length += direction[k] * direction[k];
    }
    const double radius = 3.0 * uniform(4 * index + 3) / sqrt(length);
    for (int k = 0; k < 3; k++) p.position[k] = center[k] + radius * direction[k];
    p.velocity[0] = clump % 2 ? -3.0f : 3.0f;
    p.velocity[1] = 0.25f * (float)(clump / 2);
    return p;
}

static void move(struct particle *particles, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++) {
            const double x = particles[i].position[k] + particles[i].velocity[k];
            particles[i].position[k] = x - side * floor(x / side);
        }
    }
}

/* Finds the halos of a step. Rank 0 gets their rows, and each rank the labels of its own particles. */
static void find_halos(const ropewalk_communicator *ranks, const struct particle *own, uint64_t count, int step) {
    /* The columns are those of the simulation. They have gaps, so the call copies them. */
    const uint64_t stride = sizeof(struct particle);
    const ropewalk_particles particles = {
        .count = count,
        .positions = {.x = own[0].position, .stride = stride, .type = ROPEWALK_F64},
        .velocities = {.x = own[0].velocity, .stride = stride, .type = ROPEWALK_F32},
        .masses = {.data = &own[0].mass, .stride = stride, .type = ROPEWALK_F32},
        .ids = {.data = &own[0].id, .stride = stride, .type = ROPEWALK_U64},
    };
    const ropewalk_fof_options options = {
        .linking_length = 0.6,
        .min_members = 50,
        .box_size = {side, side, side},
        .rows = ROPEWALK_ROWS_ON_RANK_0,
        .center = ROPEWALK_MOST_BOUND,
    };
    ropewalk_result *found;
    if (ropewalk_fof(ranks, &particles, &options, &found) != ROPEWALK_OK) fail("ropewalk_fof");

    uint64_t grouped = 0;
    const int64_t *labels = ropewalk_result_labels(found);
    for (uint64_t i = 0; i < ropewalk_result_count(found); i++) grouped += labels[i] >= 0;
    MPI_Allreduce(MPI_IN_PLACE, &grouped, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (ranks->rank == 0) {
        printf("step %d: %d halos, %d of %d particles have friends\n", step, (int)ropewalk_result_halos(found),
               (int)grouped, PARTICLES);
    }
    const ropewalk_halo *halos = ropewalk_result_rows(found);
    for (uint64_t row = 0; row < ropewalk_result_row_count(found); row++) {
        const ropewalk_halo *halo = &halos[row];
        printf("  halo %d: %d particles, mass %.0f, at (%.3f, %.3f, %.3f), moves by (%.2f, %.2f, %.2f), dispersion %.3f; most "
               "bound %d\n",
               (int)halo->tag, (int)halo->count, halo->mass, halo->center_of_mass[0], halo->center_of_mass[1],
               halo->center_of_mass[2], halo->velocity[0], halo->velocity[1], halo->velocity[2],
               halo->velocity_dispersion, (int)halo->center_id);
    }
    ropewalk_result_free(found);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ropewalk_mpi mpi;
    if (ropewalk_mpi_open(&mpi, MPI_COMM_WORLD) != MPI_SUCCESS) fail("ropewalk_mpi_open");
    /* Ranks on one machine share its processors. */
    if (ropewalk_set_threads(1) != ROPEWALK_OK) fail("ropewalk_set_threads");

    /* This rank's particles. */
    const uint64_t first = PARTICLES * mpi.ranks.rank / mpi.ranks.size;
    const uint64_t count = PARTICLES * (mpi.ranks.rank + 1) / mpi.ranks.size - first;
    struct particle *own = malloc((count + 1) * sizeof(struct particle));
    if (!own) fail("malloc");
    for (uint64_t i = 0; i < count; i++) own[i] = particle(first + i);

    for (int step = 0; step < STEPS; step++) {
        find_halos(&mpi.ranks, own, count, step);
        move(own, count);
    }
    free(own);
    ropewalk_mpi_close(&mpi);
    MPI_Finalize();
    return 0;
}
