/*
 * ropewalk in C++17: owners that free what they hold, pointers with sizes, and exceptions.
 *
 *     const ropewalk::tree tree(ropewalk::points(coordinates, 3));
 *     for (std::uint32_t i : tree.query(ropewalk::points(centers, 3), 0.5)[0]) ..
 *
 * Every function checks once that the library has the version of this header (ropewalk_abi_version). A call that fails
 * throws `ropewalk::error`, with the kind and the message. Options are the structures of ropewalk.h and
 * ropewalk_points.h, whose comments say what the functions do. Owners can be moved, not copied.
 */
#ifndef ROPEWALK_HPP
#define ROPEWALK_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ropewalk.h"
#include "ropewalk_mesh.h"
#include "ropewalk_points.h"

namespace ropewalk {

/* The kind of an error. */
enum class error_kind {
    /* Invalid points or options, on this rank or on another. */
    invalid = ROPEWALK_INVALID,
    memory = ROPEWALK_MEMORY,
    communication = ROPEWALK_COMMUNICATION,
    /* A bug of the library. */
    bug = ROPEWALK_BUG,
    /* The library has another version than this header. */
    abi = -1
};

/* The exception of all functions. what() is the message. */
class error : public std::runtime_error {
public:
    error(error_kind kind, const std::string &message) : std::runtime_error(message), kind_(kind) {}
    error_kind kind() const noexcept { return kind_; }

private:
    error_kind kind_;
};

namespace detail {

/* Throws unless the library has the version of this header. */
inline void check_abi() {
    static const std::uint32_t version = ropewalk_abi_version();
    if (version != ROPEWALK_ABI_VERSION) {
        throw error(error_kind::abi, "the library has the interface version " + std::to_string(version) +
                                         ", but ropewalk.hpp has " + std::to_string(ROPEWALK_ABI_VERSION) +
                                         "; compile the program with the headers of the library");
    }
}

/* Throws if the status is an error of the last call on this thread. */
inline void check(int status) {
    if (status != ROPEWALK_OK) throw error(static_cast<error_kind>(status), ropewalk_error_message());
}

/* Frees an object by the function of its type. */
struct deleter {
    void operator()(ropewalk_result *result) const noexcept { ropewalk_result_free(result); }
    void operator()(ropewalk_tree *tree) const noexcept { ropewalk_tree_free(tree); }
    void operator()(ropewalk_lists *lists) const noexcept { ropewalk_lists_free(lists); }
    void operator()(ropewalk_mesh *mesh) const noexcept { ropewalk_mesh_free(mesh); }
};

template <class T>
using owner = std::unique_ptr<T, deleter>;

/* Returns the object that `call` stores in its argument. */
template <class T, class Call>
owner<T> stored(Call call) {
    check_abi();
    T *object = nullptr;
    check(call(&object));
    return owner<T>(object);
}

}  // namespace detail

/* Values in memory of another owner: a pointer and a size, as std::span of C++20. */
template <class T>
class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /* Any container with data() and size(), such as std::vector, std::array and std::span. */
    template <class Container, class = std::enable_if_t<std::is_convertible_v<
                                   decltype(std::declval<Container &>().data()), T *>>>
    constexpr span(Container &&values) noexcept : data_(values.data()), size_(values.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T &operator[](std::size_t i) const { return data_[i]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* The type of coordinates: float or double. */
template <class T>
constexpr std::uint32_t type_of() {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "coordinates are float or double");
    return std::is_same_v<T, float> ? ROPEWALK_F32 : ROPEWALK_F64;
}

/* Points in memory of another owner, which must outlive the call that gets them. Without gaps they are not copied. */
class points {
public:
    /* Coordinates of all points without gaps: a container with data() and size(), point by point. */
    template <class Container>
    points(const Container &coordinates, std::uint32_t dim)
        : points(coordinates.data(), dim == 0 ? 0 : coordinates.size() / dim, dim) {
        if (dim == 0 || coordinates.size() % dim != 0) {
            throw error(error_kind::invalid, std::to_string(coordinates.size()) + " coordinates are not whole points of " +
                                                 std::to_string(dim));
        }
    }
    /* `count` points; `stride` is the distance between points in bytes, 0 for no gaps. */
    template <class T>
    points(const T *data, std::size_t count, std::uint32_t dim, std::size_t stride = 0) {
        points_.data = data;
        points_.count = count;
        points_.stride = stride;
        points_.dim = dim;
        points_.type = type_of<T>();
    }

    std::size_t size() const noexcept { return static_cast<std::size_t>(points_.count); }
    std::uint32_t dim() const noexcept { return points_.dim; }
    const ropewalk_points *get() const noexcept { return &points_; }

private:
    ropewalk_points points_ = {};
};

/* The number of values, and the sides of a periodic box or NULL. */
namespace detail {
inline const double *sides(const points &points, span<const double> box_size) {
    if (box_size.empty()) return nullptr;
    if (box_size.size() != points.dim()) {
        throw error(error_kind::invalid, "box_size has " + std::to_string(box_size.size()) + " sides for " +
                                             std::to_string(points.dim()) + " dimensions");
    }
    return box_size.data();
}
}  // namespace detail

/* A list of points for each centre of a query. */
class lists {
public:
    explicit lists(detail::owner<ropewalk_lists> held) noexcept : held_(std::move(held)) {}

    /* The number of lists. */
    std::size_t size() const noexcept { return static_cast<std::size_t>(ropewalk_lists_count(held_.get())); }
    /* The points of a centre. */
    span<const std::uint32_t> operator[](std::size_t center) const { return part(indices(), center); }
    /* Their distances; empty for tree::query. */
    span<const double> distances(std::size_t center) const {
        return distances().empty() ? span<const double>() : part(distances(), center);
    }
    /* The list of centre i ranges from offsets()[i] to offsets()[i + 1]. */
    span<const std::uint64_t> offsets() const noexcept { return {ropewalk_lists_offsets(held_.get()), size() + 1}; }
    /* The points of all lists, and their distances. */
    span<const std::uint32_t> indices() const noexcept { return {ropewalk_lists_indices(held_.get()), total()}; }
    span<const double> distances() const noexcept {
        const double *data = ropewalk_lists_distances(held_.get());
        return {data, data == nullptr ? 0 : total()};
    }

private:
    std::size_t total() const noexcept { return static_cast<std::size_t>(offsets()[size()]); }
    template <class T>
    span<T> part(span<T> all, std::size_t center) const {
        const auto from = static_cast<std::size_t>(offsets()[center]);
        return {all.data() + from, static_cast<std::size_t>(offsets()[center + 1]) - from};
    }

    detail::owner<ropewalk_lists> held_;
};

/* What a visitor of tree::visit returns. */
enum class after { go_on = ROPEWALK_CONTINUE, next_center = ROPEWALK_NEXT_CENTER, stop = ROPEWALK_STOP };

/* A tree of points, which copies the coordinates. Several threads may query it at the same time. */
class tree {
public:
    /* `box_size` has a side for each dimension; empty means open space. */
    explicit tree(const points &points, span<const double> box_size = {})
        : held_(detail::stored<ropewalk_tree>([&](ropewalk_tree **tree) {
              return ropewalk_tree_build(points.get(), detail::sides(points, box_size), tree);
          })) {}

    std::size_t size() const noexcept { return static_cast<std::size_t>(ropewalk_tree_count(held_.get())); }
    std::uint32_t dim() const noexcept { return ropewalk_tree_dim(held_.get()); }

    /* The points within a radius of each centre (inclusive), in ascending order. */
    lists query(const points &centers, span<const double> radii) const {
        return lists(detail::stored<ropewalk_lists>([&](ropewalk_lists **lists) {
            return ropewalk_tree_query(held_.get(), centers.get(), radii.data(), radii.size(), lists);
        }));
    }
    lists query(const points &centers, double radius) const { return query(centers, span<const double>(&radius, 1)); }

    /* The number of points within a radius of each centre (inclusive). */
    std::vector<std::uint32_t> count(const points &centers, span<const double> radii) const {
        std::vector<std::uint32_t> counts(centers.size());
        detail::check(
            ropewalk_tree_query_count(held_.get(), centers.get(), radii.data(), radii.size(), counts.data()));
        return counts;
    }
    std::vector<std::uint32_t> count(const points &centers, double radius) const {
        return count(centers, span<const double>(&radius, 1));
    }

    /* The k nearest points to each centre that are at most max_distance away, nearest first, ties by index. */
    lists nearest(const points &centers, std::uint64_t k,
                  double max_distance = std::numeric_limits<double>::infinity()) const {
        return lists(detail::stored<ropewalk_lists>([&](ropewalk_lists **lists) {
            return ropewalk_tree_nearest(held_.get(), centers.get(), k, max_distance, lists);
        }));
    }

    /*
     * Calls `visitor` with the index of a centre and of a point within a radius of it, on this thread, one centre after
     * the other. The points of a centre are in unspecified order. The visitor returns `after`, or nothing to go on. An
     * exception of the visitor ends the call and is thrown from it.
     */
    template <class Visitor>
    void visit(const points &centers, span<const double> radii, Visitor &&visitor) const {
        using function = std::remove_reference_t<Visitor>;
        struct context {
            function *visitor;
            std::exception_ptr thrown;
        } own = {std::addressof(visitor), nullptr};
        const ropewalk_visitor call = [](void *data, std::uint64_t center, std::uint32_t point) -> int {
            auto &own = *static_cast<context *>(data);
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<function &, std::size_t, std::uint32_t>>) {
                    (*own.visitor)(static_cast<std::size_t>(center), point);
                    return ROPEWALK_CONTINUE;
                } else {
                    return static_cast<int>((*own.visitor)(static_cast<std::size_t>(center), point));
                }
            } catch (...) {
                own.thrown = std::current_exception();
                return ROPEWALK_STOP;
            }
        };
        const int status = ropewalk_tree_visit(held_.get(), centers.get(), radii.data(), radii.size(), call, &own);
        if (own.thrown) std::rethrow_exception(own.thrown);
        detail::check(status);
    }
    template <class Visitor>
    void visit(const points &centers, double radius, Visitor &&visitor) const {
        visit(centers, span<const double>(&radius, 1), std::forward<Visitor>(visitor));
    }

private:
    detail::owner<ropewalk_tree> held_;
};

/* Labels and other columns of particles or points, and rows of halos. Columns that a function does not have are empty. */
class result {
public:
    explicit result(detail::owner<ropewalk_result> held) noexcept : held_(std::move(held)) {}

    std::size_t size() const noexcept { return static_cast<std::size_t>(ropewalk_result_count(held_.get())); }
    /* The label of each particle, -1 for none. */
    span<const std::int64_t> labels() const noexcept { return column(ropewalk_result_labels(held_.get())); }
    /* 1 for each core particle of DBSCAN, else 0. */
    span<const std::uint8_t> core() const noexcept { return column(ropewalk_result_core(held_.get())); }
    /* Densities of HOP, in units of the mean density. */
    span<const double> density() const noexcept { return column(ropewalk_result_density(held_.get())); }
    /* Of HDBSCAN*. */
    span<const double> probabilities() const noexcept { return column(ropewalk_result_probabilities(held_.get())); }
    span<const double> outlier_scores() const noexcept { return column(ropewalk_result_outlier_scores(held_.get())); }
    /* The number of clusters or groups, and that of halos, on all ranks. */
    std::uint64_t clusters() const noexcept { return ropewalk_result_clusters(held_.get()); }
    std::uint64_t halos() const noexcept { return ropewalk_result_halos(held_.get()); }
    /* The rows of the catalogue on this rank. */
    span<const ropewalk_halo> rows() const noexcept {
        return {ropewalk_result_rows(held_.get()), static_cast<std::size_t>(ropewalk_result_row_count(held_.get()))};
    }

private:
    template <class T>
    span<const T> column(const T *data) const noexcept {
        return {data, data == nullptr ? 0 : size()};
    }

    detail::owner<ropewalk_result> held_;
};

/* Halos of friends of friends; `ranks` is the communicator of several ranks. */
inline result fof(const ropewalk_particles &particles, const ropewalk_fof_options &options,
                  const ropewalk_communicator *ranks = nullptr) {
    return result(detail::stored<ropewalk_result>(
        [&](ropewalk_result **result) { return ropewalk_fof(ranks, &particles, &options, result); }));
}

/* Halos of HOP. */
inline result hop(const ropewalk_particles &particles, const ropewalk_hop_options &options,
                  const ropewalk_communicator *ranks = nullptr) {
    return result(detail::stored<ropewalk_result>(
        [&](ropewalk_result **result) { return ropewalk_hop(ranks, &particles, &options, result); }));
}

/* Clusters of DBSCAN, of particles on ranks. */
inline result dbscan(const ropewalk_particles &particles, const ropewalk_dbscan_options &options,
                     const ropewalk_communicator *ranks = nullptr) {
    return result(detail::stored<ropewalk_result>(
        [&](ropewalk_result **result) { return ropewalk_dbscan(ranks, &particles, &options, result); }));
}

/* Clusters of DBSCAN, of points in 1 to 10 dimensions. */
inline result dbscan(const points &points, double eps, std::uint64_t min_samples, span<const double> box_size = {}) {
    const ropewalk_points_dbscan_options options = {eps, min_samples, detail::sides(points, box_size)};
    return result(detail::stored<ropewalk_result>(
        [&](ropewalk_result **result) { return ropewalk_points_dbscan(points.get(), &options, result); }));
}

/* Clusters of HDBSCAN*. */
inline result hdbscan(const points &points, const ropewalk_hdbscan_options &options) {
    return result(detail::stored<ropewalk_result>(
        [&](ropewalk_result **result) { return ropewalk_hdbscan(points.get(), &options, result); }));
}

/* Overdense spheres about centres, rows of x, y and z. All spheres of a centre follow each other, in the order of
   options.thresholds. */
inline std::vector<ropewalk_sphere> spheres(const ropewalk_particles &particles,
                                            span<const std::array<double, 3>> centers,
                                            const ropewalk_sphere_options &options) {
    detail::check_abi();
    std::vector<ropewalk_sphere> found(centers.size() * static_cast<std::size_t>(options.threshold_count));
    const double *first = centers.empty() ? nullptr : centers[0].data();
    detail::check(ropewalk_spheres(&particles, first, centers.size(), &options, found.data()));
    return found;
}

/* A triangle mesh, which copies the vertices. Several threads may query it at the same time. */
class mesh {
public:
    /* `faces` has three indices of vertices for each triangle. */
    mesh(const points &vertices, span<const std::array<std::uint32_t, 3>> faces)
        : held_(detail::stored<ropewalk_mesh>([&](ropewalk_mesh **mesh) {
              const std::uint32_t *first = faces.empty() ? nullptr : faces[0].data();
              return ropewalk_mesh_build(vertices.get(), first, faces.size(), mesh);
          })) {}

    std::size_t size() const noexcept { return static_cast<std::size_t>(ropewalk_mesh_face_count(held_.get())); }

    /* The first hit of each ray, with the triangle ROPEWALK_NO_TRIANGLE for rays without a hit. */
    std::vector<ropewalk_hit> first_hits(span<const ropewalk_ray> rays) const {
        std::vector<ropewalk_hit> hits(rays.size());
        detail::check(ropewalk_mesh_first_hits(held_.get(), rays.data(), rays.size(), hits.data()));
        return hits;
    }

    /* 1 for each ray that hits a triangle, else 0. */
    std::vector<std::uint8_t> any_hits(span<const ropewalk_ray> rays) const {
        std::vector<std::uint8_t> hits(rays.size());
        detail::check(ropewalk_mesh_any_hits(held_.get(), rays.data(), rays.size(), hits.data()));
        return hits;
    }

private:
    detail::owner<ropewalk_mesh> held_;
};

}  // namespace ropewalk

#endif
