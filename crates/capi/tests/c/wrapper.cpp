// Functions of the C++ header that no other program here uses, on files of three formats: each agrees with the others.
#include <meshmap.hpp>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

int failures = 0;

void check(bool is_as_expected, const char *what) {
    if (!is_as_expected) {
        std::fprintf(stderr, "wrapper: %s\n", what);
        ++failures;
    }
}

void names() {
    check(meshmap::status_name(MM_ABSENT) == "absent" && meshmap::format_name(MM_FORMAT_TMF) == "tmf", "names");
    check(meshmap::scalar_size(MM_SCALAR_F16) == 2 && meshmap::version() == MM_VERSION_STRING, "sizes and version");
#if MM_VERSION < MM_MAKE_VERSION(0, 1, 0)
#error "versions are compared by their parts"
#endif
}

void entries(const meshmap::File &file) {
    const auto list = file.meshes();
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto entry = list.at(i);
        const auto counts = file.counts(entry.address);
        check(!entry.has_counts || counts.triangle_count == entry.triangle_count, "counts of an entry");
        check(counts.has_positions || !entry.is_drawn_by_default, "only meshes with positions are drawn");
    }
}

void arrays_and_texts(const meshmap::File &file) {
    std::size_t arrays = 0, texts = 0;
    file.arrays([&](const mm_array_info &info) {
        const auto array = file.array(info.address);
        check(array && std::memcmp(array->info().data, info.data, info.byte_length) == 0, "an array by its address");
        ++arrays;
        return true;
    });
    file.texts([&](std::string_view address, std::string_view) {
        check(!address.empty(), "the address of a text");
        return ++texts < 2;
    });
    check(arrays > 0 && texts <= 2, "arrays and texts");
    try {
        file.arrays([](const mm_array_info &) -> bool { throw std::runtime_error("stop"); });
        check(false, "an exception of a callback");
    } catch (const std::runtime_error &error) {
        check(std::strcmp(error.what(), "stop") == 0, "the exception of the callback");
    }
    check(!file.array("nothing[0]"), "an array that is not there");
}

void cgeo(const char *path) {
    const auto proxy = meshmap::Proxy::of(meshmap::File::map(path));
    const auto scratch = meshmap::Scratch::make();
    const auto cache = meshmap::Cache::make(std::uint64_t{64} << 20);
    const auto place = meshmap::Snapshot::make();
    proxy.read(1, scratch, place);
    const auto info = place.info();
    check(info.vertices == proxy.counts(1, scratch).vertices, "counts");
    std::vector<meshmap::Vec3> a(info.vertices), b(info.vertices), c(info.vertices);
    check(proxy.read(1, MM_CGEO_POSITIONS, 0, scratch, a.data(), 0, a.size()) == a.size(), "read");
    check(place.copy(MM_CGEO_POSITIONS, 0, scratch, b.data(), 0, b.size()) == b.size(), "copy");
    check(cache.read(proxy, 1, MM_CGEO_POSITIONS, 0, scratch, c.data(), 0, c.size()) == c.size(), "from the cache");
    check(a == b && b == c && std::memcmp(place.view().data(), a.data(), a.size() * sizeof a[0]) == 0, "positions");
    check(proxy.triangles(1, scratch) == place.triangles() && place.triangles().size() == info.triangles, "triangles");
    const auto ids = proxy.view(1, MM_CGEO_MATERIAL_IDS, 0, scratch);
    check(ids.count == info.triangles && ids.scalar == MM_SCALAR_U32, "material IDs");
    check(proxy.property("Original object name").has_value() && !proxy.property("nothing"), "properties");
    check(proxy.property(nullptr)->size() > 20, "the whole header");
    check(proxy.dialect().codec == MM_CODEC_ZLIB, "the dialect");
    const auto storage = proxy.storage(0, scratch);
    check(storage.is_complete && storage.sample_count == 1, "storage");
    auto position = MM_INIT(mm_layout_attribute);
    position.semantic = MM_SEMANTIC_POSITION;
    position.scalar = MM_SCALAR_F32;
    position.components = 3;
    const auto writer = meshmap::VertexWriter::make({&position, 1});
    std::size_t vertices = 0;
    const auto indices = writer.indices(proxy, 1, vertices);
    check(indices.size() == std::size_t{info.triangles} * 3, "indices");
    std::vector<float> written(vertices * 3);
    writer.write(proxy, 1, written.data(), written.size() * sizeof(float));
    writer.write_at(proxy, nullptr, 0.05, MM_WRAP_LOOP, written.data(), written.size() * sizeof(float));
    auto timing = MM_INIT(meshmap::Timing);
    timing.clock = MM_CLOCK_RATE;
    timing.rate = 24;
    check(proxy.time_of(&timing, 24) == 1.0, "times");
    const auto key = proxy.key_at(&timing, 1.5 / 24);
    check(key && key->from == 1 && key->to == 2, "keys");
    std::vector<float> slow(info.vertices * 3), shared(slow.size());
    proxy.velocities(&timing, 1, scratch, slow.data(), 0, info.vertices);
    cache.velocities(proxy, &timing, 1, scratch, shared.data(), 0, info.vertices);
    check(slow == shared, "velocities");
    entries(proxy.file());

    const auto cancel = meshmap::Cancel::make();
    cancel.use();
    cancel.set();
    try {
        proxy.file().validate();
        check(false, "a cancelled call");
    } catch (const meshmap::Error &error) {
        check(error.status() == MM_ERROR_CANCELLED, error.what());
    }
    meshmap::Cancel::use_none();
    proxy.file().validate();
}

void damaged(const char *path) {
    try {
        const auto proxy = meshmap::Proxy::of(meshmap::File::open(path));
        const auto scratch = meshmap::Scratch::make();
        for (std::size_t i = 0; i < proxy.size(); ++i) {
            proxy.read(i, scratch, meshmap::Snapshot::make());
        }
        check(false, "a damaged file");
    } catch (const meshmap::Error &error) {
        const auto &failure = error.failure();
        check(failure.bytes && failure.bytes->begin < failure.bytes->end, "the bytes of a failure");
    }
}

void iqm(const char *path) {
    const auto file = meshmap::File::open(path);
    entries(file);
    arrays_and_texts(file);
    const auto rig = meshmap::Rig::of(file);
    const auto scratch = meshmap::Scratch::make();
    std::vector<mm_trs> poses(rig.info().pose_count);
    check(rig.pose(0, scratch, poses) == poses.size() && !poses.empty(), "poses");
    const auto frames = rig.frames_at(0, 0, 24);
    check(frames && frames->from == rig.anim(0).first_frame, "frames");
    const auto mesh = file.mesh("meshes[0]");
    check(!mesh.material_ids(), "a mesh without material IDs");
    std::vector<float> positions(mesh.info().vertex_count * 4);
    const auto index = mesh.find(MM_SEMANTIC_POSITION);
    check(index && mesh.read(*index, MM_SCALAR_F32, 3, false, positions.data(), 16, mesh.info().vertex_count) ==
                       mesh.info().vertex_count,
          "positions into a buffer");
}

void slmesh(const char *path) {
    const auto file = meshmap::File::open(path);
    entries(file);
    const auto best = file.best_lod("high_lod");
    check(best.has_value(), "the best level");
    const auto range = file.lod_range(std::string(*best));
    check(range && range->first.begin < range->first.end, "the bytes of a level");
    check(file.lod(std::string(*best))->size() > 0, "the faces of a level");
}

} // namespace

int main(int count, char **arguments) {
    if (count != 5) {
        std::fprintf(stderr, "usage: wrapper FILE.cgeo DAMAGED.cgeo FILE.iqm FILE.slmesh\n");
        return 2;
    }
    try {
        names();
        cgeo(arguments[1]);
        damaged(arguments[2]);
        iqm(arguments[3]);
        slmesh(arguments[4]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "wrapper: %s\n", error.what());
        return 1;
    }
    check(meshmap::handle_count() == 0, "all handles are closed");
    if (failures == 0) {
        std::puts("wrapper: all as expected");
    }
    return failures == 0 ? 0 : 1;
}
