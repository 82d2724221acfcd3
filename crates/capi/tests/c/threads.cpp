// 64 threads over one cache: each snapshot is decoded once, and what all see is equal. Also what the C++ header does with
// failures, readers that throw, and memory that is lent.
#include <meshmap.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t THREADS = 64;

void check(bool good, const char *what) {
    if (!good) {
        std::fprintf(stderr, "threads: %s\n", what);
        std::exit(1);
    }
}

std::vector<std::byte> bytes_of(const char *path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<std::byte> out(bytes.size());
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

struct Throws : meshmap::Reader {
    std::size_t read(std::uint64_t, meshmap::Span<std::byte>) override { throw std::runtime_error("no"); }
};

struct Memory : meshmap::Reader {
    std::vector<std::byte> bytes;
    explicit Memory(std::vector<std::byte> bytes) : bytes(std::move(bytes)) {}
    std::optional<std::uint64_t> length() override { return bytes.size(); }
    std::size_t read(std::uint64_t offset, meshmap::Span<std::byte> out) override {
        const std::size_t rest = offset < bytes.size() ? bytes.size() - static_cast<std::size_t>(offset) : 0;
        const std::size_t count = std::min(rest, out.size());
        std::memcpy(out.data(), bytes.data() + offset, count);
        return count;
    }
};

void pull(const meshmap::Proxy &proxy, const meshmap::Cache &cache, const std::vector<std::vector<meshmap::Vec3>> &expected) {
    std::vector<std::thread> threads;
    std::atomic<std::size_t> good{0};
    for (std::size_t thread = 0; thread < THREADS; ++thread) {
        threads.emplace_back([&, thread] {
            const auto place = meshmap::Snapshot::make();
            for (std::size_t step = 0; step < proxy.size(); ++step) {
                const std::size_t index = (thread * 7 + step) % proxy.size();
                cache.get(proxy, index, place);
                const auto found = place.view();
                const auto &wanted = expected[index];
                const bool same = found.size() == wanted.size() &&
                                  (wanted.empty() || std::memcmp(found.data(), wanted.data(), wanted.size() * 12) == 0);
                good += same ? 1 : 0;
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    check(good == THREADS * proxy.size(), "all threads see what one sees");
}

void run(const char *path) {
    auto options = meshmap::options();
    options.parallelism = MM_PARALLELISM_OFF;
    const auto proxy = meshmap::Proxy::of(meshmap::File::open(path, &options));
    const auto scratch = meshmap::Scratch::make();
    std::vector<std::vector<meshmap::Vec3>> expected;
    for (std::size_t i = 0; i < proxy.size(); ++i) {
        const auto positions = proxy.positions(i, scratch);
        expected.emplace_back(positions.begin(), positions.end());
    }
    const auto cache = meshmap::Cache::make(std::uint64_t{1} << 30);
    pull(proxy, cache, expected);
    const auto stats = meshmap::call<mm_cache_stats>(mm_cache_get_stats, cache);
    check(stats.decodes == proxy.size(), "each snapshot is decoded once");

    // By a reader, and from memory.
    const auto of_reader = meshmap::Proxy::of(meshmap::File::reader(std::make_shared<Memory>(bytes_of(path)), &options));
    const auto of_memory = meshmap::Proxy::of(meshmap::File::memory(bytes_of(path), &options));
    for (const auto *other : {&of_reader, &of_memory}) {
        const auto last = other->positions(proxy.size() - 1, scratch);
        check(std::memcmp(last.data(), expected.back().data(), last.size() * 12) == 0, "all sources are alike");
    }
    try {
        meshmap::File::reader(std::make_shared<Throws>());
        check(false, "a reader that throws is a failure");
    } catch (const meshmap::Error &error) {
        check(error.status() == MM_ERROR_IO, "a reader that throws is a failure to read");
    }
    try {
        proxy.positions(proxy.size(), scratch);
        check(false, "there is no such snapshot");
    } catch (const meshmap::Error &error) {
        check(error.status() == MM_ERROR_OUT_OF_RANGE && error.failure().format == MM_FORMAT_CGEO, error.what());
    }

    // A mesh by address, in a layout, moved about.
    auto mesh = proxy.mesh("snapshots[0]");
    auto other = std::move(mesh);
    mesh = std::move(other);
    std::vector<mm_layout_attribute> layout = {meshmap::layout_attribute(MM_SEMANTIC_POSITION, MM_SCALAR_F32, 3),
                                               meshmap::layout_attribute(MM_SEMANTIC_COLOR, MM_SCALAR_U8, 4)};
    layout[1].normalized = layout[1].has_default = 1;
    layout[1].default_value[0] = layout[1].default_value[3] = 1;
    const auto stride = meshmap::call<std::size_t>(mm_layout_resolve, layout.data(), layout.size());
    check(stride == 16, "three floats and four bytes");
    const auto info = mesh.info();
    check(mesh.vertices(layout).size() == info.vertex_count * 16, "all vertices");
    check(mesh.triangles().size() * 3 == info.index_count, "all triangles");
    check(mesh.indices().format == MM_INDEX_U16 && meshmap::find<mm_bounds>(mm_mesh_bounds, mesh), "indices and box");
    check(!meshmap::list<mm_group>(mm_mesh_groups, mesh).empty(), "groups");
    check(mesh.find(MM_SEMANTIC_POSITION) == std::size_t{0}, "attributes");
    check(mesh.read<meshmap::Vec3>(0).size() == info.vertex_count, "positions");
}

} // namespace

int main(int count, char **arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: threads FILE.cgeo\n");
        return 2;
    }
    try {
        run(arguments[1]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "threads: %s\n", error.what());
        return 1;
    }
    check(mm_handle_count() == 0, "all handles are closed");
    std::puts("threads: all as expected");
    return 0;
}
