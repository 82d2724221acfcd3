// Functions of the C++ header that no other program here uses, on files of three formats: each agrees with the others.
#include <meshmap.hpp>
#include <meshmap_cgeo.h>

#include <array>
#include <cmath>
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
    check(std::string(mm_status_name(MM_ABSENT)) == "absent" && std::string(mm_format_name(MM_FORMAT_TMF)) == "tmf", "names");
    check(mm_scalar_size(MM_SCALAR_F16) == 2 && std::string(mm_version()) == MM_VERSION_STRING, "sizes and version");
#if MM_VERSION < MM_MAKE_VERSION(0, 1, 0)
#error "versions are compared by their parts"
#endif
}

void entries(const meshmap::File &file) {
    const auto list = file.meshes();
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto entry = list.at(i);
        const auto counts = meshmap::call<mm_mesh_counts>(mm_mesh_get_counts, file, entry.address);
        check(!entry.has_counts || counts.triangle_count == entry.triangle_count, "counts of an entry");
        check(counts.has_positions || !entry.is_drawn_by_default, "only meshes with positions are drawn");
    }
}

// Returns the number of arrays.
std::size_t arrays_and_texts(const meshmap::File &file) {
    std::size_t arrays = 0, texts = 0;
    const auto scratch = meshmap::Scratch::make();
    file.arrays([&](const mm_array_info &info) {
        const auto array = file.array(info.address, scratch);
        check(array.byte_length == info.byte_length && std::memcmp(array.data, info.data, info.byte_length) == 0,
              "an array by its address");
        ++arrays;
        return true;
    });
    file.texts([&](const char *address, std::string_view) {
        check(*address != 0, "the address of a text");
        return ++texts < 2;
    });
    check(texts <= 2, "arrays and texts");
    try {
        file.arrays([](const mm_array_info &) -> bool { throw std::runtime_error("stop"); });
        check(arrays == 0, "an exception of a callback");
    } catch (const std::runtime_error &error) {
        check(std::strcmp(error.what(), "stop") == 0, "the exception of the callback");
    }
    try {
        file.array("nothing[0]", scratch);
        check(false, "an array that is not there");
    } catch (const meshmap::Error &error) {
        check(error.status() == MM_ERROR_OUT_OF_RANGE, error.what());
    }
    return arrays;
}

// A file as it is drawn, by the same file as it is stored.
void scene(const meshmap::File &file) {
    const auto scene = meshmap::Scene::of(file);
    const auto info = scene.info();
    for (std::size_t i = 0; i < info.shape_count; ++i) {
        const auto shape = scene.shape(i);
        const auto drawn = scene.mesh(i), stored = file.mesh(shape.address);
        check(drawn.info().vertex_count == stored.info().vertex_count, "the vertices of a shape");
        check(drawn.info().index_count == stored.info().index_count, "the triangles of a shape");
        const auto weights = drawn.find(MM_SEMANTIC_WEIGHTS);
        if (weights && info.joint_count > 0) {
            for (const auto &each : drawn.read<std::array<float, 4>>(*weights)) {
                check(std::abs(each[0] + each[1] + each[2] + each[3] - 1) < 1e-5F, "the sum of weights");
            }
        }
        for (const auto &group : meshmap::list<mm_group>(mm_mesh_groups, drawn)) {
            const auto material = scene.material(i, group.material);
            check(material.color[3] == 1, "a colour");
            check(*material.image == 0 || !meshmap::image_paths(material.image).empty(), "paths of an image");
        }
    }
    for (std::size_t i = 0; i < info.joint_count; ++i) {
        check(scene.joint(i).parent < static_cast<std::int64_t>(info.joint_count), "a parent");
    }
    for (std::size_t i = 0; i < info.clip_count; ++i) {
        const auto clip = scene.clip(i);
        for (std::size_t event = 0; event < clip.event_count; ++event) {
            check(scene.event(i, event).seconds >= 0, "the time of an event");
        }
        check(scene.pose(i, clip.seconds / 2).size() == info.joint_count + 1, "a pose");
        check(scene.pose(SIZE_MAX, 0, MM_MATRICES_JOINT).size() == info.joint_count + 1, "the bind pose");
    }
    for (std::size_t i = 0; i < info.remark_count; ++i) {
        check(*scene.remark(i) != 0, "a remark");
    }
}

void cgeo(const char *path) {
    const auto proxy = meshmap::Proxy::of(meshmap::File::map(path));
    const auto scratch = meshmap::Scratch::make();
    const auto cache = meshmap::Cache::make(std::uint64_t{64} << 20);
    const auto place = meshmap::Snapshot::make();
    proxy.decode(1, scratch, place);
    const auto info = place.info();
    check(info.vertices == proxy.counts(1, scratch).vertices, "counts");
    std::vector<meshmap::Vec3> a(info.vertices);
    check(proxy.positions(1, scratch, a) == a.size(), "read");
    cache.get(proxy, 1, place);
    const auto b = place.copy<meshmap::Vec3>("positions", scratch);
    check(a == b && std::memcmp(place.view().data(), a.data(), a.size() * sizeof a[0]) == 0, "positions");
    const auto triangles = proxy.triangles(1, scratch);
    check(triangles.size() == info.triangles, "triangles");
    check(triangles == place.copy<meshmap::Triangle>("triangles.positions", scratch), "triangles of a snapshot");
    const meshmap::SnapshotAddress materials(1, "triangles.material_ids");
    const auto ids = proxy.array(materials, scratch);
    check(ids.shape[0] == info.triangles && ids.scalar == MM_SCALAR_U16, "material IDs");
    check(meshmap::elements<std::uint16_t>(ids).size() == info.triangles, "elements");
    check(meshmap::elements<std::uint32_t>(ids).empty(), "elements of another type");
    check(proxy.read<std::uint16_t>(materials, scratch).size() == info.triangles, "elements in a vector");
    try {
        proxy.read<float>(materials, scratch);
        check(false, "elements of another type");
    } catch (const meshmap::Error &error) {
        check(error.status() == MM_ERROR_MISMATCH, error.what());
    }
    check(proxy.property("Original object name").has_value() && !proxy.property("nothing"), "properties");
    check(proxy.property(nullptr)->size() > 20, "the whole header");
    check(meshmap::call<mm_cgeo_dialect>(mm_cgeo_get_dialect, proxy).codec == MM_CODEC_ZLIB, "the dialect");
    std::uint32_t is_complete = 0;
    const auto samples = meshmap::call<std::size_t>(mm_cgeo_storage, proxy, 0, scratch, &is_complete);
    check(samples == 1 && is_complete == 1, "storage");
    const mm_layout_attribute layout[] = {meshmap::layout_attribute(MM_SEMANTIC_POSITION, MM_SCALAR_F32, 3)};
    const auto writer = meshmap::VertexWriter::make({layout, 1});
    std::size_t vertices = 0;
    const auto indices = writer.indices(proxy, 1, vertices);
    check(indices.size() == std::size_t{info.triangles} * 3, "indices");
    std::vector<float> written(vertices * 3);
    const std::size_t bytes = written.size() * sizeof(float);
    const auto topology = meshmap::call<mm_topology>(mm_vertex_writer_write, writer, proxy, 1, written.data(), bytes, nullptr);
    check(topology == meshmap::call<mm_topology>(mm_cgeo_topology, proxy, 1, scratch), "the topology of vertices");
    meshmap::call<mm_topology>(mm_vertex_writer_write_at, writer, proxy, nullptr, 0.05, MM_WRAP_LOOP, written.data(), bytes,
                               nullptr);
    auto timing = MM_INIT(mm_timing);
    timing.clock = MM_CLOCK_RATE;
    timing.rate = 24;
    check(meshmap::call<double>(mm_cgeo_time_of, proxy, &timing, 24) == 1.0, "times");
    const auto key = meshmap::find<mm_cgeo_key>(mm_cgeo_key_at, proxy, &timing, 1.5 / 24, MM_WRAP_CLAMP);
    check(key && key->from == 1 && key->to == 2, "keys");
    std::vector<meshmap::Vec3> slow(info.vertices), shared(info.vertices);
    meshmap::fill(slow, mm_cgeo_velocities, proxy, &timing, 1, nullptr, scratch);
    meshmap::fill(shared, mm_cgeo_velocities, proxy, &timing, 1, cache, scratch);
    check(slow == shared, "velocities");
    const double times[] = {0.01, 0.07};
    std::vector<meshmap::Vec3> moving(2 * std::size_t{info.vertices}), moving_too(moving.size());
    check(proxy.positions_at(&timing, {times, 2}, MM_WRAP_LOOP, scratch, moving) == moving.size(), "positions at times");
    proxy.positions_at(&timing, {times, 2}, MM_WRAP_LOOP, scratch, moving_too, cache.get());
    check(moving == moving_too, "positions at times, by a cache");
    entries(proxy);

    const auto cancel = meshmap::Cancel::make();
    cancel.use();
    cancel.set();
    try {
        proxy.validate();
        check(false, "a cancelled call");
    } catch (const meshmap::Error &error) {
        check(error.status() == MM_ERROR_CANCELLED, error.what());
    }
    meshmap::Cancel::use_none();
    proxy.validate();
}

void damaged(const char *path) {
    try {
        const auto proxy = meshmap::Proxy::of(meshmap::File::open(path));
        const auto scratch = meshmap::Scratch::make();
        for (std::size_t i = 0; i < proxy.size(); ++i) {
            proxy.decode(i, scratch, meshmap::Snapshot::make());
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
    check(arrays_and_texts(file) > 0, "arrays");
    const auto rig = meshmap::Rig::of(file);
    const auto scratch = meshmap::Scratch::make();
    std::vector<mm_trs> poses(meshmap::call<mm_rig_info>(mm_rig_get_info, rig).pose_count);
    check(meshmap::fill(poses, mm_rig_pose, rig, 0, scratch) == poses.size() && !poses.empty(), "poses");
    check(meshmap::call<mm_anim>(mm_rig_anim, rig, 0).frame_count > 0, "frames");
    check(std::string(meshmap::call<mm_joint>(mm_rig_joint, rig, 0).name) != "", "joints");
    const auto matrices = meshmap::list<meshmap::Matrix>(mm_rig_skinning_at, rig, 0, 0.1, 24.0f, scratch);
    check(matrices.size() == poses.size(), "matrices");
    const auto mesh = file.mesh("meshes[0]");
    check(!mesh.info().has_material_ids, "a mesh without material IDs");
    check(meshmap::find<mm_bounds>(mm_mesh_bounds, mesh).has_value(), "a box");
    std::vector<float> positions(mesh.info().vertex_count * 4);
    const auto index = mesh.find(MM_SEMANTIC_POSITION);
    const meshmap::Buffer buffer(positions.data(), 16, mesh.info().vertex_count);
    check(index.has_value(), "positions");
    const auto count = meshmap::fill(buffer, mm_mesh_read_attribute, mesh, *index, MM_SCALAR_F32, 3, 0);
    check(count == buffer.capacity, "positions into a buffer");
    check(meshmap::elements<meshmap::Vec3>(mesh.view(*index)).size() == buffer.capacity, "positions where they lie");
}

void slmesh(const char *path) {
    const auto file = meshmap::File::open(path);
    entries(file);
    const auto best = meshmap::find<const char *>(mm_slmesh_best_lod, file, "high_lod");
    check(best.has_value(), "the best level");
    std::uint64_t begin = 0, end = 0;
    check(mm_slmesh_lod_range(file.get(), *best, &begin, &end, nullptr) == MM_OK && begin < end, "the bytes of a level");
    check(meshmap::find<meshmap::MeshList>(mm_slmesh_lod, file, *best)->size() > 0, "the faces of a level");
}

} // namespace

int main(int count, char **arguments) {
    if (count < 5) {
        std::fprintf(stderr, "usage: wrapper FILE.cgeo DAMAGED.cgeo FILE.iqm FILE.slmesh [FILE..]\n");
        return 2;
    }
    try {
        names();
        cgeo(arguments[1]);
        damaged(arguments[2]);
        iqm(arguments[3]);
        slmesh(arguments[4]);
        for (int i = 5; i < count; ++i) {
            const auto file = meshmap::File::map(arguments[i]);
            entries(file);
            arrays_and_texts(file);
            scene(file);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "wrapper: %s\n", error.what());
        return 1;
    }
    check(mm_handle_count() == 0, "all handles are closed");
    if (failures == 0) {
        std::puts("wrapper: all as expected");
    }
    return failures == 0 ? 0 : 1;
}
