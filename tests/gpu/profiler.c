/* A profiler that writes the names of ranges and marks to the file that NVTX_LOG names. Built by profiler.rs. The types are those of
   nvtxDetail/nvtxTypes.h of NVTX 3. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*Function)(void);

typedef struct {
    size_t struct_size;
    int (*get_module_function_table)(int module, Function ***table, unsigned int *size);
} Callbacks;

typedef struct {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved0;
    void (*set_injection_nvtx_version)(uint32_t version);
} VersionInfo;

enum { CALLBACKS = 1, VERSION_INFO = 3, CORE = 1, CORE2 = 5, MARK_A = 2, RANGE_PUSH_A = 9, RANGE_POP = 11, CORE_SIZE = 16 };

static FILE *out;
static __thread int depth;

static void write_line(const char *what, const char *name) {
    fprintf(out, "%d %s %s\n", depth, what, name);
    fflush(out);
}

static void mark(const char *name) { write_line("mark", name); }

static int push(const char *name) {
    write_line("push", name);
    return depth++;
}

static int pop(void) {
    depth--;
    write_line("pop", "");
    return depth;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    const VersionInfo *version = export_table(VERSION_INFO);
    const Callbacks *callbacks = export_table(CALLBACKS);
    Function **table = NULL;
    unsigned int size = 0;
    out = fopen(getenv("NVTX_LOG"), "w");
    if (!out || !version || version->struct_size != sizeof *version || version->version != 3) return 0;
    version->set_injection_nvtx_version(3);
    if (!callbacks || callbacks->struct_size != sizeof *callbacks) return 0;
    for (int module = 1; module <= 6; module++) {
        if (!callbacks->get_module_function_table(module, &table, &size) || table[0] || table[size]) return 0;
    }
    if (callbacks->get_module_function_table(7, &table, &size)) return 0;
    if (!callbacks->get_module_function_table(CORE, &table, &size) || size != CORE_SIZE) return 0;
    *table[MARK_A] = (Function)mark;
    *table[RANGE_PUSH_A] = (Function)push;
    *table[RANGE_POP] = (Function)pop;
    fputs("started\n", out);
    fflush(out);
    return 1;
}
