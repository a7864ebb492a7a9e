/*
 * A communicator for ropewalk.h that uses MPI:
 *
 *     ropewalk_mpi mpi;
 *     ropewalk_mpi_open(&mpi, MPI_COMM_WORLD);
 *     ropewalk_fof(&mpi.ranks, &particles, &options, &result);
 *     ropewalk_mpi_close(&mpi);
 *
 * ropewalk_mpi_open and ropewalk_mpi_close are collective, and return MPI_SUCCESS or an error of MPI. The
 * communicator is duplicated, so that messages cannot be confused with those of the simulation. MPI may have any
 * thread level, since its functions are called from the caller's thread. Data are split into messages of at most 2^30
 * bytes, because counts of MPI have 31 bits. They are not copied. MPI 2.2 or later is required.
 */
#ifndef ROPEWALK_MPI_H
#define ROPEWALK_MPI_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "ropewalk.h"

/* The number of ranks that a rank exchanges messages with at a time. */
#define ROPEWALK_MPI_PARTNERS 32

/* Must not be moved while it is open, because `ranks.context` points to it. */
typedef struct ropewalk_mpi {
    /* The communicator to pass to ropewalk_fof and ropewalk_dbscan. */
    ropewalk_communicator ranks;
    MPI_Comm comm;
    /* The maximum number of bytes of a message, from 8 to 2^30. It must be the same on all ranks. */
    uint64_t message;
} ropewalk_mpi;

static inline uint64_t ropewalk_mpi_min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Stores the offset of each rank's bytes in `starts`. */
static inline void ropewalk_mpi_starts(const uint64_t *counts, uint64_t size, uint64_t *starts) {
    uint64_t start = 0;
    for (uint64_t rank = 0; rank < size; rank++) {
        starts[rank] = start;
        start += counts[rank];
    }
}

/*
 * Each rank sends to the rank `distance` after it and receives from the rank `distance` before it, for several
 * distances per pass. Both sides know the count and split it into the same messages; empty messages are not sent. In
 * a pass a rank waits only for ranks that have not passed it, so the rank that is furthest behind can always proceed:
 * there is no deadlock.
 */
static inline int ropewalk_mpi_all_to_all_v(void *context, const void *send, const uint64_t *sent, void *receive,
                                            const uint64_t *received) {
    const ropewalk_mpi *mpi = (const ropewalk_mpi *)context;
    const uint64_t rank = mpi->ranks.rank, size = mpi->ranks.size;
    uint64_t *from = (uint64_t *)malloc(2 * size * sizeof(uint64_t));
    if (!from) return MPI_ERR_NO_MEM;
    uint64_t *into = from + size;
    ropewalk_mpi_starts(sent, size, from);
    ropewalk_mpi_starts(received, size, into);
    if (sent[rank] > 0) memcpy((char *)receive + into[rank], (const char *)send + from[rank], (size_t)sent[rank]);

    int status = MPI_SUCCESS;
    for (uint64_t first = 1; first < size && status == MPI_SUCCESS; first += ROPEWALK_MPI_PARTNERS) {
        const uint64_t end = ropewalk_mpi_min(size, first + ROPEWALK_MPI_PARTNERS);
        uint64_t longest = 0;
        for (uint64_t distance = first; distance < end; distance++) {
            const uint64_t out = sent[(rank + distance) % size], in = received[(rank + size - distance) % size];
            if (out > longest) longest = out;
            if (in > longest) longest = in;
        }
        for (uint64_t done = 0; done < longest && status == MPI_SUCCESS; done += mpi->message) {
            MPI_Request requests[2 * ROPEWALK_MPI_PARTNERS];
            int count = 0;
            for (uint64_t distance = first; distance < end && status == MPI_SUCCESS; distance++) {
                const uint64_t other = (rank + size - distance) % size;
                if (done >= received[other]) continue;
                const int length = (int)ropewalk_mpi_min(mpi->message, received[other] - done);
                status = MPI_Irecv((char *)receive + into[other] + done, length, MPI_BYTE, (int)other, 1, mpi->comm,
                                   &requests[count]);
                if (status == MPI_SUCCESS) count++;
            }
            for (uint64_t distance = first; distance < end && status == MPI_SUCCESS; distance++) {
                const uint64_t other = (rank + distance) % size;
                if (done >= sent[other]) continue;
                const int length = (int)ropewalk_mpi_min(mpi->message, sent[other] - done);
                status = MPI_Isend((char *)send + from[other] + done, length, MPI_BYTE, (int)other, 1, mpi->comm,
                                   &requests[count]);
                if (status == MPI_SUCCESS) count++;
            }
            /* Wait also after an error, because the buffers belong to the caller. */
            const int waited = MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
            if (status == MPI_SUCCESS) status = waited;
        }
    }
    free(from);
    return status;
}

static inline int ropewalk_mpi_all_gather_v(void *context, const void *own, void *receive, const uint64_t *counts) {
    const ropewalk_mpi *mpi = (const ropewalk_mpi *)context;
    const uint64_t rank = mpi->ranks.rank, size = mpi->ranks.size;
    uint64_t all = 0;
    for (uint64_t other = 0; other < size; other++) all += counts[other];
    int status = MPI_SUCCESS;
    if (all == 0) return status;
    if (all <= mpi->message) {
        int *numbers = (int *)malloc(2 * size * sizeof(int));
        if (!numbers) return MPI_ERR_NO_MEM;
        int start = 0;
        for (uint64_t other = 0; other < size; other++) {
            numbers[other] = (int)counts[other];
            numbers[size + other] = start;
            start += numbers[other];
        }
        status = MPI_Allgatherv((void *)own, numbers[rank], MPI_BYTE, receive, numbers, numbers + size, MPI_BYTE,
                                mpi->comm);
        free(numbers);
        return status;
    }
    char *block = (char *)receive;
    for (uint64_t root = 0; root < size; root++) {
        if (root == rank && counts[root] > 0) memcpy(block, own, (size_t)counts[root]);
        for (uint64_t done = 0; done < counts[root] && status == MPI_SUCCESS; done += mpi->message) {
            const int length = (int)ropewalk_mpi_min(mpi->message, counts[root] - done);
            status = MPI_Bcast(block + done, length, MPI_BYTE, (int)root, mpi->comm);
        }
        block += counts[root];
    }
    return status;
}

static inline int ropewalk_mpi_all_reduce(void *context, uint64_t *numbers, uint64_t count, uint32_t reduction) {
    const ropewalk_mpi *mpi = (const ropewalk_mpi *)context;
    const MPI_Op operation = reduction == ROPEWALK_SUM ? MPI_SUM : reduction == ROPEWALK_MIN ? MPI_MIN : MPI_MAX;
    const uint64_t most = mpi->message / sizeof(uint64_t);
    int status = MPI_SUCCESS;
    for (uint64_t done = 0; done < count && status == MPI_SUCCESS; done += most) {
        const int length = (int)ropewalk_mpi_min(most, count - done);
        status = MPI_Allreduce(MPI_IN_PLACE, numbers + done, length, MPI_UINT64_T, operation, mpi->comm);
    }
    return status;
}

static inline int ropewalk_mpi_open(ropewalk_mpi *mpi, MPI_Comm comm) {
    int rank = 0, size = 0, status = MPI_Comm_dup(comm, &mpi->comm);
    if (status == MPI_SUCCESS) status = MPI_Comm_rank(mpi->comm, &rank);
    if (status == MPI_SUCCESS) status = MPI_Comm_size(mpi->comm, &size);
    mpi->message = (uint64_t)1 << 30;
    mpi->ranks.context = mpi;
    mpi->ranks.rank = (uint64_t)rank;
    mpi->ranks.size = (uint64_t)size;
    mpi->ranks.all_to_all_v = ropewalk_mpi_all_to_all_v;
    mpi->ranks.all_gather_v = ropewalk_mpi_all_gather_v;
    mpi->ranks.all_reduce = ropewalk_mpi_all_reduce;
    return status;
}

static inline int ropewalk_mpi_close(ropewalk_mpi *mpi) { return MPI_Comm_free(&mpi->comm); }

#endif
