/* Counts the bytes that are copied between host and device by a library that looks up the CUDA driver by name. Built by on_device.py and
   preloaded. CUDA's runtime, which CuPy, PyTorch and JAX use, gets the driver's functions in another way, so their copies are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

typedef int (*To)(uint64_t, const void *, size_t);
typedef int (*ToAsync)(uint64_t, const void *, size_t, void *);
typedef int (*From)(void *, uint64_t, size_t);
typedef int (*FromAsync)(void *, uint64_t, size_t, void *);
typedef int (*Within)(uint64_t, uint64_t, size_t, void *);
typedef int (*Plane)(const void *, void *);

static To to;
static ToAsync to_async;
static From from;
static FromAsync from_async;
static Within within_async;
static Plane plane_async;

/* Bytes copied to the device, from it and within it; copies to it and from it; two-dimensional copies, whose bytes are not counted. */
static _Atomic uint64_t counts[6];

static void count(int way, size_t bytes) {
    atomic_fetch_add(&counts[way], bytes);
    atomic_fetch_add(&counts[way + 3], 1);
}

static int count_to(uint64_t d, const void *s, size_t n) { count(0, n); return to(d, s, n); }
static int count_to_async(uint64_t d, const void *s, size_t n, void *q) { count(0, n); return to_async(d, s, n, q); }
static int count_from(void *d, uint64_t s, size_t n) { count(1, n); return from(d, s, n); }
static int count_from_async(void *d, uint64_t s, size_t n, void *q) { count(1, n); return from_async(d, s, n, q); }
static int count_within_async(uint64_t d, uint64_t s, size_t n, void *q) { atomic_fetch_add(&counts[2], n); return within_async(d, s, n, q); }
static int count_plane_async(const void *c, void *q) { atomic_fetch_add(&counts[5], 1); return plane_async(c, q); }

void transfers_take(uint64_t *out) {
    for (int i = 0; i < 6; i++) out[i] = atomic_exchange(&counts[i], 0);
}

void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real) {
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (!real) real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    }
    void *found = real(handle, name);
    if (!found || strncmp(name, "cuMemcpy", 8)) return found;
#define COUNTED(symbol, kept, type, wrapper) if (!strcmp(name, symbol)) return kept = (type)found, (void *)wrapper
    COUNTED("cuMemcpyHtoD_v2", to, To, count_to);
    COUNTED("cuMemcpyHtoDAsync_v2", to_async, ToAsync, count_to_async);
    COUNTED("cuMemcpyDtoH_v2", from, From, count_from);
    COUNTED("cuMemcpyDtoHAsync_v2", from_async, FromAsync, count_from_async);
    COUNTED("cuMemcpyDtoDAsync_v2", within_async, Within, count_within_async);
    COUNTED("cuMemcpy2DAsync_v2", plane_async, Plane, count_plane_async);
    return found;
}
