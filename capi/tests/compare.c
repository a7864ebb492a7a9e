/*
 * Compares labels and rows with their definitions, computed from all pairs of particles, for all memory layouts. Also
 * tests errors.
 *
 *     mpirun -n 3 ./compare [BYTES]     BYTES is the maximum size of a message
 *
 * Rank 0 prints "passed" after more than 1000 comparisons. A difference ends the program.
 */
#include <math.h>
#include <stdio.h>

#include "ropewalk_mpi.h"

enum { MOST = 900 };

static ropewalk_mpi mpi;
static int passed = 0;
static double all[MOST][3];
static int64_t expected[MOST];

#define CHECK(is, ...)                                                                  \
    do {                                                                                \
        if (!(is)) {                                                                    \
            fprintf(stderr, "line %d, rank %d: ", __LINE__, (int)mpi.ranks.rank);       \
            fprintf(stderr, __VA_ARGS__);                                               \
            fprintf(stderr, " (%s)\n", ropewalk_error_message());                       \
            MPI_Abort(MPI_COMM_WORLD, 1);                                               \
        }                                                                               \
        passed++;                                                                       \
    } while (0)

static uint32_t state = 1;

static double uniform(void) {
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (double)(state >> 8) / 16777216.0;
}

static double distance2(const double *a, const double *b, double side) {
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double d = fabs(a[k] - b[k]);
        if (side > 0.0 && d > side / 2.0) d = side - d;
        sum += d * d;
    }
    return sum;
}

static int root(int *parents, int i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

/* Computes labels from all pairs. Components of core particles are numbered by their smallest particle; other
   particles get the minimum label of core particles near them. Friends of friends are the case min_samples = 2. Returns
   the number of clusters. */
static int64_t label_all(int n, double length, double side, int min_samples, uint8_t *core) {
    static int parents[MOST];
    const double length2 = length * length;
    for (int i = 0; i < n; i++) {
        int near = 0;
        for (int j = 0; j < n; j++) near += distance2(all[i], all[j], side) <= length2;
        core[i] = near >= min_samples;
        parents[i] = i;
        expected[i] = -1;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            if (!core[i] || !core[j] || distance2(all[i], all[j], side) > length2) continue;
            const int a = root(parents, i), b = root(parents, j);
            if (a < b) parents[b] = a;
            if (b < a) parents[a] = b;
        }
    }
    int64_t count = 0;
    for (int i = 0; i < n; i++) {
        if (!core[i]) continue;
        const int first = root(parents, i);
        expected[i] = first == i ? count++ : expected[first];
    }
    for (int i = 0; i < n; i++) {
        if (core[i]) continue;
        for (int j = 0; j < n; j++) {
            const int is_nearer = expected[i] < 0 || (core[j] && expected[j] < expected[i]);
            if (core[j] && is_nearer && distance2(all[i], all[j], side) <= length2) expected[i] = expected[j];
        }
    }
    return count;
}

/* Places clumps in a box of side 10, at coordinates that are exact in 32 bits. */
static void place(int n) {
    for (int i = 0; i < n; i++) {
        const double width = i % 3 == 0 ? 10.0 : 1.5;
        for (int k = 0; k < 3; k++) {
            const double x = (double)(i % 5) * 2.0 + width * (uniform() - 0.5) + 10.0;
            all[i][k] = (double)(float)fmod(x, 10.0);
        }
    }
}

/* The index of a rank's first particle. For kind 1 the first of several ranks has no particles. */
static int start_of(int n, uint64_t rank, int kind) {
    const int size = (int)mpi.ranks.size;
    if (kind == 0) return n * (int)rank / size;
    return rank == 0 ? 0 : n * ((int)rank - 1) / (size > 1 ? size - 1 : 1);
}

struct record {
    char tag[3];
    float narrow[3];
    double wide[3];
    float mass;
    uint32_t id;
};

/* The positions of this rank in one of six layouts. */
static ropewalk_vectors vectors(int way, const struct record *records, const double *wide, const float *narrow, int n) {
    const ropewalk_vectors ways[6] = {
        {.x = wide, .type = ROPEWALK_F64},
        {.x = narrow, .type = ROPEWALK_F32},
        {.x = records[0].wide, .stride = sizeof(struct record), .type = ROPEWALK_F64},
        {.x = records[0].narrow, .stride = sizeof(struct record), .type = ROPEWALK_F32},
        /* Three arrays. */
        {.x = wide + 3 * n, .y = wide + 4 * n, .z = wide + 5 * n, .type = ROPEWALK_F64},
        {.x = &records[0].narrow[0], .y = &records[0].narrow[1], .z = &records[0].narrow[2],
         .stride = sizeof(struct record), .type = ROPEWALK_F32},
    };
    return ways[way];
}

static void compare_rows(int n, const ropewalk_result *found, uint64_t least, int owners) {
    uint64_t rows = ropewalk_result_row_count(found), sums[2] = {rows, 0};
    const ropewalk_halo *halos = ropewalk_result_rows(found);
    for (uint64_t row = 0; row < rows; row++) {
        const ropewalk_halo *halo = &halos[row];
        uint64_t count = 0, tag = UINT64_MAX;
        double mass = 0.0, velocity[3] = {0.0};
        for (int i = 0; i < n; i++) {
            if (expected[i] != halo->label) continue;
            count++;
            const double own = 1.0 + i % 3;
            mass += own;
            for (int k = 0; k < 3; k++) velocity[k] += own * (double)(i % (k + 5));
            if ((uint64_t)(5000 - i) < tag) tag = (uint64_t)(5000 - i);
        }
        CHECK(count >= least && halo->count == count, "a halo of %d has a row of %d", (int)count, (int)halo->count);
        CHECK(halo->tag == tag && halo->mass == mass, "tag %d, mass %g", (int)halo->tag, halo->mass);
        for (int k = 0; k < 3; k++) CHECK(fabs(halo->velocity[k] * mass - velocity[k]) < 1e-9, "velocity");
        const double offset2 = distance2(halo->center, halo->center_of_mass, 10.0);
        CHECK(sqrt(offset2) <= halo->max_radius * (1.0 + 1e-9), "the centre is outside of the halo");
        CHECK(halo->center_id <= 5000 && halo->center_id > (uint64_t)(5000 - n), "the centre is no particle");
        if (row > 0) CHECK(halos[row - 1].count >= count, "rows are largest first");
        sums[1] += halo->count;
    }
    if (!owners) CHECK(mpi.ranks.rank == 0 || rows == 0, "%d rows on another rank than 0", (int)rows);
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == ropewalk_result_halos(found), "%d rows", (int)sums[0]);
}

static void compare(int n, double length, double side, int way, int share) {
    static uint8_t core[MOST];
    const int first = start_of(n, mpi.ranks.rank, share);
    const int count = (mpi.ranks.rank + 1 == mpi.ranks.size ? n : start_of(n, mpi.ranks.rank + 1, share)) - first;
    struct record *records = malloc((size_t)(count + 1) * sizeof(struct record));
    double *wide = malloc((size_t)(6 * count + 1) * sizeof(double));
    float *narrow = malloc((size_t)(3 * count + 1) * sizeof(float)), *moving = malloc((size_t)(3 * count + 1) * sizeof(float));
    CHECK(records && wide && narrow && moving, "memory");
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++) {
            records[i].wide[k] = wide[3 * i + k] = wide[(3 + k) * count + i] = all[first + i][k];
            records[i].narrow[k] = narrow[3 * i + k] = (float)all[first + i][k];
            moving[3 * i + k] = (float)((first + i) % (k + 5));
        }
        records[i].mass = 1.0f + (float)((first + i) % 3);
        records[i].id = (uint32_t)(5000 - first - i);
    }
    ropewalk_particles particles = {.count = (uint64_t)count, .positions = vectors(way, records, wide, narrow, count)};
    ropewalk_result *found = NULL;

    const ropewalk_dbscan_options dbscan = {.eps = length, .min_samples = 6, .box_size = {side, side, side}};
    CHECK(ropewalk_dbscan(&mpi.ranks, &particles, &dbscan, &found) == ROPEWALK_OK, "DBSCAN of %d, way %d", n, way);
    int64_t clusters = label_all(n, length, side, 6, core);
    CHECK((int64_t)ropewalk_result_clusters(found) == clusters, "clusters");
    CHECK(ropewalk_result_count(found) == (uint64_t)count, "count");
    for (int i = 0; i < count; i++) {
        CHECK(ropewalk_result_labels(found)[i] == expected[first + i], "DBSCAN's label of %d", first + i);
        CHECK(ropewalk_result_core(found)[i] == core[first + i], "whether %d is core", first + i);
    }
    ropewalk_result_free(found);

    clusters = label_all(n, length, side, 2, core);
    for (uint32_t rows = ROPEWALK_NO_ROWS; rows <= ROPEWALK_ROWS_ON_RANK_0; rows++) {
        ropewalk_fof_options fof = {.linking_length = length, .box_size = {side, side, side}, .rows = rows};
        if (rows != ROPEWALK_NO_ROWS) {
            fof.min_members = 4;
            fof.center = rows == ROPEWALK_ROWS_OF_OWNERS ? ROPEWALK_MOST_BOUND : ROPEWALK_MOST_CONNECTED;
            particles.velocities.x = moving;
            particles.velocities.type = ROPEWALK_F32;
            particles.masses.data = &records[0].mass;
            particles.masses.type = ROPEWALK_F32;
            particles.ids.data = &records[0].id;
            particles.ids.type = ROPEWALK_U32;
            particles.masses.stride = particles.ids.stride = sizeof(struct record);
        }
        CHECK(ropewalk_fof(&mpi.ranks, &particles, &fof, &found) == ROPEWALK_OK, "FOF of %d, way %d", n, way);
        CHECK((int64_t)ropewalk_result_clusters(found) == clusters, "groups");
        CHECK(ropewalk_result_core(found) == NULL, "core");
        for (int i = 0; i < count; i++) {
            CHECK(ropewalk_result_labels(found)[i] == expected[first + i], "the label of %d", first + i);
        }
        if (rows != ROPEWALK_NO_ROWS) compare_rows(n, found, 4, rows == ROPEWALK_ROWS_OF_OWNERS);
        ropewalk_result_free(found);
    }
    free(records), free(wide), free(narrow), free(moving);
}

/* Errors of one rank, and words of the message that all ranks get. */
static void refusals(void) {
    const double good[6] = {1.0, 1.0, 1.0, 2.0, 2.0, 2.0};
    const double bad[6] = {1.0, 1.0, 1.0, NAN, 2.0, 2.0};
    const uint64_t last = mpi.ranks.size - 1;
    const int mine = mpi.ranks.rank == last;
    const char *words[8] = {"NaN", "NULL", "linking_length is -1", "ROPEWALK_F32", "particles is NULL", "exceed the address space",
                            "stride", "options is NULL"};
    for (int fault = 0; fault < 8; fault++) {
        ropewalk_particles particles = {.count = 2, .positions = {.x = good, .type = ROPEWALK_F64}};
        ropewalk_fof_options options = {.linking_length = 1.0};
        /* Options must be the same on all ranks, valid or not. */
        if (fault == 2) options.linking_length = -1.0;
        if (mine && fault == 0) particles.positions.x = bad;
        if (mine && fault == 1) particles.positions.x = NULL;
        if (mine && fault == 3) particles.positions.type = 7;
        if (mine && fault == 5) particles.count = UINT64_MAX / 2;
        if (mine && fault == 6) particles.positions.stride = 8;
        ropewalk_result *found = (ropewalk_result *)&particles;
        const int status = ropewalk_fof(&mpi.ranks, mine && fault == 4 ? NULL : &particles,
                                        mine && fault == 7 ? NULL : &options, &found);
        CHECK(status == ROPEWALK_INVALID && found == NULL, "status %d of fault %d", status, fault);
        CHECK(strstr(ropewalk_error_message(), words[fault]), "fault %d: %s", fault, words[fault]);
    }
    /* Particles that span more than the box, on each rank or together. */
    for (int fault = 0; fault < 3; fault++) {
        const double spread = last == 0 || fault == 2 ? 100.0 : 100.0 * (double)mpi.ranks.rank;
        const double wide[6] = {fault == 2 || last == 0 ? 0.0 : spread, 1.0, 1.0, spread, 1.0, 1.0};
        const ropewalk_particles particles = {.count = 2, .positions = {.x = wide, .type = ROPEWALK_F64}};
        const ropewalk_fof_options fof = {.linking_length = 0.1, .box_size = {1.0, 1.0, 1.0}};
        const ropewalk_dbscan_options dbscan = {.eps = 0.1, .min_samples = 2, .box_size = {1.0, 200.0, 200.0}};
        ropewalk_result *found = NULL;
        const int status = fault == 1 ? ropewalk_dbscan(&mpi.ranks, &particles, &dbscan, &found)
                                      : ropewalk_fof(&mpi.ranks, &particles, &fof, &found);
        CHECK(status == ROPEWALK_INVALID && found == NULL, "status %d of a narrow box", status);
        CHECK(strstr(ropewalk_error_message(), "the periodic box is 1, but along axis 0"), "a narrow box");
    }
    /* Ranks with different options, types or functions. */
    if (last == 0) return;
    for (int fault = 0; fault < 3; fault++) {
        const float narrow[6] = {1.0f};
        ropewalk_particles particles = {.count = 2, .positions = {.x = good, .type = ROPEWALK_F64}};
        ropewalk_fof_options options = {.linking_length = mine && fault == 0 ? 2.0 : 1.0};
        if (mine && fault == 1) {
            particles.positions.x = narrow;
            particles.positions.type = ROPEWALK_F32;
        }
        ropewalk_result *found = NULL;
        const ropewalk_dbscan_options dbscan = {.eps = 1.0, .min_samples = 2};
        const int status = mine && fault == 2 ? ropewalk_dbscan(&mpi.ranks, &particles, &dbscan, &found)
                                              : ropewalk_fof(&mpi.ranks, &particles, &options, &found);
        const char *word = fault == 0 ? "linking_length is 2 on rank" : fault == 1 ? "positions.type is" : "different functions";
        CHECK(status == ROPEWALK_INVALID && strstr(ropewalk_error_message(), word), "status %d of %s", status, word);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (ropewalk_mpi_open(&mpi, MPI_COMM_WORLD) != MPI_SUCCESS) return 1;
    if (argc > 1) mpi.message = strtoull(argv[1], NULL, 10);
    CHECK(ropewalk_set_threads(1) == ROPEWALK_OK, "threads");
    CHECK(ropewalk_set_threads(2) == ROPEWALK_INVALID, "threads, twice");
    const int numbers[5] = {0, 1, 2, 100, MOST};
    for (int which = 0; which < 5; which++) {
        for (int way = 0; way < 6; way++) {
            for (int share = 0; share < 2; share++) {
                place(numbers[which]);
                compare(numbers[which], 0.55, way % 2 == share ? 10.0 : 0.0, way, share);
            }
        }
    }
    refusals();
    ropewalk_mpi_close(&mpi);
    int least = passed;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (mpi.ranks.rank == 0) printf("%s\n", least > 1000 ? "passed" : "too little was compared");
    MPI_Finalize();
    return 0;
}
