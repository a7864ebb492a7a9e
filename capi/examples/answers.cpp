/*
 * Searches, clusters, halos and rays in C++, as digests that answers.rs prints, too:
 *
 *     ./answers [COUNT]     COUNT is the number of points, 20000 by default
 *
 * CMakeLists.txt in this folder builds it with an installed library.
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <ropewalk.hpp>

namespace {

using row = std::array<double, 3>;

/* A random number from 0 to 1: SplitMix64 (Steele et al. 2014). */
double uniform(std::uint64_t seed) {
    std::uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return static_cast<double>((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* Points in the unit cube, of which a third is concentrated at a corner. Only products are rounded, which is the same on
   every machine. */
std::vector<row> sample(std::uint64_t count) {
    std::vector<row> all(count);
    for (std::uint64_t i = 0; i < count; i++) {
        for (std::uint64_t k = 0; k < 3; k++) {
            const double x = uniform(6 * i + k);
            all[i][k] = i % 3 == 0 ? x * uniform(6 * i + k + 3) * 0.25 : x;
        }
    }
    return all;
}

/* FNV-1a of 64-bit numbers. */
class digest {
public:
    void add(std::uint64_t number) { state_ = (state_ ^ number) * UINT64_C(0x100000001b3); }
    void add(double number) {
        std::uint64_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        add(bits);
    }
    void print(const char *name) const { std::printf("%s %016" PRIx64 "\n", name, state_); }

private:
    std::uint64_t state_ = UINT64_C(0xcbf29ce484222325);
};

void print_labels(const char *name, const ropewalk::result &found) {
    digest of;
    for (std::int64_t label : found.labels()) of.add(static_cast<std::uint64_t>(label));
    of.print(name);
}

void print_searches(const std::vector<row> &rows, double radius) {
    const ropewalk::points all(rows[0].data(), rows.size(), 3);
    const ropewalk::tree tree(all);
    digest within, nearest, visited;
    const ropewalk::lists lists = tree.query(all, radius);
    for (std::size_t i = 0; i < lists.size(); i++) {
        within.add(static_cast<std::uint64_t>(lists[i].size()));
        for (std::uint32_t point : lists[i]) within.add(static_cast<std::uint64_t>(point));
    }
    within.print("within");
    const ropewalk::lists near = tree.nearest(all, 8);
    for (std::uint32_t point : near.indices()) nearest.add(static_cast<std::uint64_t>(point));
    for (double distance : near.distances()) nearest.add(distance);
    nearest.print("nearest");
    /* The number of points with at least three others, whose search ends there. */
    std::uint64_t dense = 0, hits = 0;
    std::size_t of = rows.size();
    tree.visit(all, radius, [&](std::size_t center, std::uint32_t) {
        hits = center == of ? hits + 1 : 1;
        of = center;
        if (hits < 4) return ropewalk::after::go_on;
        dense++;
        return ropewalk::after::next_center;
    });
    visited.add(dense);
    visited.print("visited");
}

void print_spheres(const ropewalk_particles &particles, const std::vector<row> &rows) {
    const std::vector<row> centers(rows.begin(), rows.begin() + 100);
    const double thresholds[2] = {2.0 * static_cast<double>(rows.size()), 20.0 * static_cast<double>(rows.size())};
    ropewalk_sphere_options options = {};
    options.thresholds = thresholds;
    options.threshold_count = 2;
    digest of;
    for (const ropewalk_sphere &sphere : ropewalk::spheres(particles, centers, options)) {
        of.add(static_cast<std::uint64_t>(sphere.status));
        if (sphere.status != ROPEWALK_SPHERE_FOUND) continue;
        of.add(sphere.mass);
        of.add(sphere.radius);
        of.add(sphere.count);
    }
    of.print("spheres");
}

/* Triangles of three successive points each, and rays from a corner of the cube to points. */
void print_rays(const std::vector<row> &rows) {
    std::vector<std::array<std::uint32_t, 3>> faces;
    for (std::uint32_t i = 0; i + 2 < rows.size(); i += 300) faces.push_back({i, i + 1, i + 2});
    const ropewalk::mesh mesh(ropewalk::points(rows[0].data(), rows.size(), 3), faces);
    std::vector<ropewalk_ray> rays(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++) {
        for (std::size_t k = 0; k < 3; k++) rays[i].direction[k] = rows[i][k];
    }
    digest first, any;
    for (const ropewalk_hit &hit : mesh.first_hits(rays)) {
        first.add(static_cast<std::uint64_t>(hit.triangle));
        first.add(hit.t);
    }
    first.print("first_hits");
    for (std::uint8_t is_hit : mesh.any_hits(rays)) any.add(static_cast<std::uint64_t>(is_hit));
    any.print("any_hits");
}

/* A call that fails throws its message. */
bool refuses_zero_length(const ropewalk_particles &particles) {
    try {
        ropewalk::fof(particles, ropewalk_fof_options{});
    } catch (const ropewalk::error &error) {
        return error.kind() == ropewalk::error_kind::invalid && std::strstr(error.what(), "linking_length is 0");
    }
    return false;
}

void run(std::uint64_t count) {
    const std::vector<row> rows = sample(count);
    const double separation = 1.0 / std::cbrt(static_cast<double>(count));
    /* A power of two, so that both programs have the same number. */
    double length = 1.0;
    while (length > 0.5 * separation) length *= 0.5;
    print_searches(rows, length);

    const ropewalk::points points(rows[0].data(), rows.size(), 3);
    const std::array<double, 3> box = {1.0, 1.0, 1.0};
    print_labels("dbscan", ropewalk::dbscan(points, length, 5, box));
    ropewalk_hdbscan_options hdbscan = {};
    hdbscan.min_cluster_size = 20;
    print_labels("hdbscan", ropewalk::hdbscan(points, hdbscan));

    ropewalk_particles particles = {};
    particles.count = rows.size();
    particles.positions.x = rows[0].data();
    particles.positions.type = ROPEWALK_F64;
    ropewalk_fof_options fof = {};
    fof.linking_length = length;
    print_labels("fof", ropewalk::fof(particles, fof));
    ropewalk_hop_options hop = {};
    hop.delta_outer = 4.0;
    for (double &side : hop.box_size) side = 1.0;
    print_labels("hop", ropewalk::hop(particles, hop));
    print_spheres(particles, rows);
    print_rays(rows);
    if (!refuses_zero_length(particles)) throw std::runtime_error("a linking length of 0 is not refused");
}

}  // namespace

int main(int argc, char **argv) {
    try {
        run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
