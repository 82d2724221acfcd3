// The time that calls take to end after their flag is set, for each call that can take long.
//
//     cancel LIMIT_MILLISECONDS FILE..
#include <meshmap.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using Call = std::function<void(const char *path)>;

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string first_mesh(const meshmap::File &file) {
    const auto list = file.meshes();
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list.at(i).is_drawn_by_default) {
            return list.at(i).address;
        }
    }
    return "meshes[0]";
}

void strict(const char *path) {
    auto options = meshmap::options();
    options.strictness = MM_STRICTNESS_STRICT;
    meshmap::File::open(path, &options);
}

void mesh(const char *path, const std::function<void(const meshmap::Mesh &)> &use) {
    const auto file = meshmap::File::map(path);
    use(file.mesh(first_mesh(file)));
}

void each_snapshot(const char *path, const std::function<void(const meshmap::Proxy &, std::size_t)> &use) {
    const auto file = meshmap::File::map(path);
    if (file.format() != MM_FORMAT_CGEO) {
        return;
    }
    const auto proxy = meshmap::Proxy::of(file.share());
    for (std::size_t i = 0; i < proxy.size(); ++i) {
        use(proxy, i);
    }
}

const std::pair<const char *, Call> CALLS[] = {
    {"open, strict", strict},
    {"meshes", [](const char *path) { meshmap::File::map(path).meshes(); }},
    {"validate", [](const char *path) { meshmap::File::map(path).validate(); }},
    {"mesh", [](const char *path) { mesh(path, [](const auto &) {}); }},
    {"bounds", [](const char *path) { mesh(path, [](const auto &mesh) { meshmap::find<mm_bounds>(mm_mesh_bounds, mesh); }); }},
    {"by_material",
     [](const char *path) {
         mesh(path, [](const auto &mesh) { meshmap::call<meshmap::Mesh>(mm_mesh_by_material, mesh); });
     }},
    {"read attributes",
     [](const char *path) {
         mesh(path, [](const auto &mesh) {
             for (std::size_t i = 0; i < mesh.info().attribute_count; ++i) {
                 mesh.template read<meshmap::Vec3>(i);
             }
         });
     }},
    {"indices", [](const char *path) { mesh(path, [](const auto &mesh) { mesh.indices(MM_INDEX_U32); }); }},
    {"arrays",
     [](const char *path) { meshmap::File::map(path).arrays([](const mm_array_info &) { return true; }); }},
    {"snapshots",
     [](const char *path) {
         const auto place = meshmap::Snapshot::make();
         const auto scratch = meshmap::Scratch::make();
         each_snapshot(path, [&](const auto &proxy, std::size_t i) { proxy.decode(i, scratch, place); });
     }},
    {"cache",
     [](const char *path) {
         const auto cache = meshmap::Cache::make(std::uint64_t{1} << 30);
         const auto place = meshmap::Snapshot::make();
         each_snapshot(path, [&](const auto &proxy, std::size_t i) { cache.get(proxy, i, place); });
     }},
    {"velocities",
     [](const char *path) {
         const auto scratch = meshmap::Scratch::make();
         auto timing = MM_INIT(mm_timing);
         timing.clock = MM_CLOCK_RATE;
         timing.rate = 24;
         each_snapshot(path, [&](const auto &proxy, std::size_t i) {
             std::vector<meshmap::Vec3> out(proxy.counts(i, scratch).vertices);
             meshmap::fill(out, mm_cgeo_velocities, proxy, &timing, i, nullptr, scratch);
         });
     }},
};

struct Outcome {
    bool is_cancelled = false;
    double milliseconds = 0;
};

// Sets the flag `after` milliseconds, and returns how long the call then took.
Outcome cancel_after(const Call &call, const char *path, double after) {
    const auto cancel = meshmap::Cancel::make();
    std::atomic<bool> has_begun{false};
    Outcome outcome;
    Clock::time_point end;
    std::thread caller([&] {
        cancel.use();
        has_begun = true;
        try {
            call(path);
        } catch (const meshmap::Error &error) {
            outcome.is_cancelled = error.status() == MM_ERROR_CANCELLED;
            if (!outcome.is_cancelled) {
                std::fprintf(stderr, "%s: %s\n", path, error.what());
            }
        }
        end = Clock::now();
        meshmap::Cancel::use_none();
    });
    while (!has_begun) {
    }
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(after));
    const auto set = Clock::now();
    cancel.set();
    caller.join();
    outcome.milliseconds = std::chrono::duration<double, std::milli>(end - set).count();
    return outcome;
}

} // namespace

int main(int count, char **arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: cancel LIMIT_MILLISECONDS FILE..\n");
        return 2;
    }
    const double limit = std::atof(arguments[1]);
    bool is_slow = false;
    for (int i = 2; i < count; ++i) {
        const char *path = arguments[i];
        for (const auto &[name, call] : CALLS) {
            const auto start = Clock::now();
            call(path);
            const double whole = since(start);
            double worst = 0;
            int cancelled = 0;
            const int parts = whole < 5 ? 0 : 8;
            for (int part = 0; part < parts; ++part) {
                auto outcome = cancel_after(call, path, whole * part / parts);
                // A busy machine is late by chance; a loop that does not look at the flag is late each time.
                for (int again = 0; again < 4 && outcome.milliseconds > limit; ++again) {
                    outcome = cancel_after(call, path, whole * part / parts);
                }
                worst = std::max(worst, outcome.milliseconds);
                cancelled += outcome.is_cancelled ? 1 : 0;
            }
            is_slow |= worst > limit;
            std::printf("%-28s %-16s %8.1f ms, cancelled %d of %d times, at most %6.1f ms later%s\n",
                        std::string(path).substr(std::string(path).find_last_of('/') + 1).c_str(), name, whole, cancelled,
                        parts, worst, worst > limit ? "  TOO LATE" : "");
        }
    }
    return is_slow ? 1 : 0;
}
