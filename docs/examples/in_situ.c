/* Halos of the particles of a running program, without files and without MPI. */
#include <stdio.h>
#include "ropewalk.h"

int main(void) {
    const double x[] = {0.1, 5, 5, 9.9, 5, 5, 0.3, 5, 5, 5, 5, 5};
    const ropewalk_particles particles = {.count = 4, .positions = {.x = x, .type = ROPEWALK_F64}};
    const ropewalk_fof_options options = {.linking_length = 0.4, .min_members = 3, .box_size = {10, 10, 10}};
    ropewalk_result *found;
    if (ropewalk_fof(NULL, &particles, &options, &found) != ROPEWALK_OK) {
        fprintf(stderr, "%s\n", ropewalk_error_message());
        return 1;
    }
    const int64_t *labels = ropewalk_result_labels(found);
    for (uint64_t i = 0; i < ropewalk_result_count(found); i++) printf("%d\n", (int)labels[i]);
    ropewalk_result_free(found);
    return 0;
}
