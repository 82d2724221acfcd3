// Snapshots in Embree's layout: four floats a vertex, filled in place, and a cache that threads share. C++17.
//
//     snapshot FILE.cgeo [THREADS]
#include <meshmap.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace {

// The stride that Embree reads fastest for RTC_FORMAT_FLOAT3: 16 bytes from one vertex to the next.
struct alignas(16) Vertex {
    float x, y, z, unused;
};

// Each thread has its own scratch and snapshot buffer; all share the cache.
void pull(const meshmap::Proxy &proxy, const meshmap::Cache &cache, std::size_t first, std::exception_ptr &failure) {
    try {
        const auto place = meshmap::Snapshot::make();
        for (std::size_t i = 0; i < proxy.size(); ++i) {
            cache.get(proxy, (first + i) % proxy.size(), place);
        }
    } catch (...) {
        failure = std::current_exception();
    }
}

void run(const char *path, std::size_t threads) {
    auto options = meshmap::options();
    options.parallelism = MM_PARALLELISM_OFF; // A renderer has threads of its own.
    const auto proxy = meshmap::Proxy::of(meshmap::File::map(path, &options));
    const auto scratch = meshmap::Scratch::make();

    std::vector<Vertex> vertices;
    for (std::size_t i = 0; i < proxy.size(); ++i) {
        vertices.resize(proxy.counts(i, scratch).vertices);
        const auto count = proxy.positions(i, scratch, vertices);
        if (i == 0) {
            const auto triangles = proxy.triangles(i, scratch);
            std::printf("%zu snapshots, %zu vertices, %zu triangles\n", proxy.size(), count, triangles.size());
        }
    }
    if (const auto timing = proxy.timing(); timing && proxy.size() > 1) {
        const auto keys = proxy.keys(nullptr, timing->start, timing->start + 1.5 * timing->step);
        vertices.resize(vertices.size() * keys.size());
        const auto count = proxy.positions_at(nullptr, keys, MM_WRAP_CLAMP, scratch, vertices);
        std::printf("a shutter over one and a half snapshots: %zu keys, %zu positions\n", keys.size(), count);
    }

    const auto cache = meshmap::Cache::make(std::uint64_t{1} << 30);
    std::vector<std::exception_ptr> failures(threads);
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] { pull(proxy, cache, i, failures[i]); });
    }
    for (auto &worker : workers) {
        worker.join();
    }
    for (const auto &failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
    const auto stats = meshmap::call<mm_cache_stats>(mm_cache_get_stats, cache);
    std::printf("%zu threads: %llu requests, %llu snapshots decoded\n", threads,
                static_cast<unsigned long long>(stats.hits + stats.misses),
                static_cast<unsigned long long>(stats.decodes));
}

} // namespace

int main(int count, char **arguments) {
    if (count < 2 || count > 3) {
        std::fprintf(stderr, "usage: %s FILE.cgeo [THREADS]\n", arguments[0]);
        return 2;
    }
    try {
        run(arguments[1], count == 3 ? std::strtoul(arguments[2], nullptr, 10) : 4);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return mm_handle_count() == 0 ? 0 : 1;
}
