// A picture with motion blur: Embree 3 traces what moves while a shutter is open, from a CGeo file. C++17.
//
//     render FILE.cgeo OUT.ppm OPEN CLOSE [SIZE [SAMPLES]]      a shutter, in snapshots: 3.25 is a quarter after snapshot 3
//     render FILE.cgeo OUT.ppm --still SNAPSHOT [SIZE [SAMPLES]]
//
// The shutter's keys are at its opening, its closing, and each snapshot that is passed between. Embree takes times that are
// equally far apart; these are not, so that each piece between two keys is a geometry with a separate time range. Positions
// go from the decoder into Embree's buffers, 16 bytes a vertex.
#include <meshmap.hpp>

#include <embree3/rtcore.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct V {
    float x, y, z;
};

V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
V operator-(V a, V b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
V operator*(V a, float s) { return {a.x * s, a.y * s, a.z * s}; }
float dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
V cross(V a, V b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
V unit(V a) {
    const float length = std::sqrt(dot(a, a));
    return length > 0 ? a * (1 / length) : V{0, 0, 1};
}

template <class T, void (*Release)(T)>
struct Embree {
    T object;
    explicit Embree(T object) : object(object) {}
    Embree(const Embree &) = delete;
    Embree &operator=(const Embree &) = delete;
    ~Embree() { Release(object); }
};

using Device = Embree<RTCDevice, rtcReleaseDevice>;
using Scene = Embree<RTCScene, rtcReleaseScene>;
using Geometry = Embree<RTCGeometry, rtcReleaseGeometry>;

constexpr std::size_t STRIDE = 16;

struct Box {
    V min{INFINITY, INFINITY, INFINITY}, max{-INFINITY, -INFINITY, -INFINITY};
    void add(V p) {
        min = {std::min(min.x, p.x), std::min(min.y, p.y), std::min(min.z, p.z)};
        max = {std::max(max.x, p.x), std::max(max.y, p.y), std::max(max.z, p.z)};
    }
};

// The traced scene: one geometry for each piece of the shutter.
void add_piece(const Device &device, const Scene &scene, const std::vector<meshmap::Triangle> &triangles,
               std::size_t vertices, const float *first, const float *second, float begin, float end) {
    const Geometry geometry(rtcNewGeometry(device.object, RTC_GEOMETRY_TYPE_TRIANGLE));
    void *indices = rtcSetNewGeometryBuffer(geometry.object, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                            sizeof triangles[0], triangles.size());
    std::memcpy(indices, triangles.data(), triangles.size() * sizeof triangles[0]);
    const float *const steps[] = {first, second};
    const unsigned count = second == nullptr ? 1 : 2;
    rtcSetGeometryTimeStepCount(geometry.object, count);
    for (unsigned step = 0; step < count; ++step) {
        rtcSetSharedGeometryBuffer(geometry.object, RTC_BUFFER_TYPE_VERTEX, step, RTC_FORMAT_FLOAT3, steps[step], 0, STRIDE,
                                   vertices);
    }
    if (count == 2) {
        rtcSetGeometryTimeRange(geometry.object, begin, end);
    }
    rtcCommitGeometry(geometry.object);
    rtcAttachGeometry(scene.object, geometry.object);
}

// Numbers in 0..1, the same ones in every run and for every shutter.
float random(std::uint32_t &state) {
    state = state * 747796405u + 2891336453u;
    std::uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    word = (word >> 22) ^ word;
    return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

struct Camera {
    V eye, right, up, forward;
    float scale;
};

// Looks at the box from the front, the side and above.
Camera camera(const Box &box) {
    const V middle = (box.min + box.max) * 0.5f, diagonal = box.max - box.min;
    const float radius = std::max(0.5f * std::sqrt(dot(diagonal, diagonal)), 1e-6f);
    const V forward = unit({-0.55f, 0.7f, -0.45f});
    const V right = unit(cross(forward, {0, 0, 1})), up = cross(right, forward);
    return {middle - forward * (radius * 2.6f), right, up, forward, 0.4f};
}

bool occluded(const Scene &scene, V from, V direction, float time) {
    RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    RTCRay ray{};
    ray.org_x = from.x, ray.org_y = from.y, ray.org_z = from.z;
    ray.dir_x = direction.x, ray.dir_y = direction.y, ray.dir_z = direction.z;
    ray.tfar = INFINITY, ray.time = time, ray.mask = ~0u;
    rtcOccluded1(scene.object, &context, &ray);
    return ray.tfar < 0;
}

float shade(const Scene &scene, V origin, V direction, float time, float radius) {
    RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    RTCRayHit hit{};
    hit.ray.org_x = origin.x, hit.ray.org_y = origin.y, hit.ray.org_z = origin.z;
    hit.ray.dir_x = direction.x, hit.ray.dir_y = direction.y, hit.ray.dir_z = direction.z;
    hit.ray.tfar = INFINITY, hit.ray.time = time, hit.ray.mask = ~0u;
    hit.hit.geomID = RTC_INVALID_GEOMETRY_ID;
    rtcIntersect1(scene.object, &context, &hit);
    if (hit.hit.geomID == RTC_INVALID_GEOMETRY_ID) {
        return 0.92f;
    }
    V normal = unit({hit.hit.Ng_x, hit.hit.Ng_y, hit.hit.Ng_z});
    if (dot(normal, direction) > 0) {
        normal = normal * -1;
    }
    const V light = unit({0.5f, -0.35f, 0.8f});
    const V place = origin + direction * hit.ray.tfar + normal * (radius * 1e-4f);
    const float sun = std::max(0.0f, dot(normal, light));
    const float lit = sun > 0 && !occluded(scene, place, light, time) ? sun : 0;
    return 0.04f + 0.11f * (0.5f + 0.5f * normal.z) + 0.4f * lit;
}

// A float is rounded to a byte here and nowhere else, so that equal scenes are equal pictures.
void write(const char *path, const std::vector<float> &picture, unsigned size) {
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path, "wb"), std::fclose);
    if (!file) {
        throw std::runtime_error(std::string("cannot write ") + path);
    }
    std::fprintf(file.get(), "P6\n%u %u\n255\n", size, size);
    for (const float value : picture) {
        const auto byte = static_cast<unsigned char>(std::lround(std::pow(std::min(value, 1.0f), 1 / 2.2f) * 255));
        const unsigned char pixel[] = {byte, byte, byte};
        std::fwrite(pixel, 1, 3, file.get());
    }
}

void render(const Scene &scene, const Box &box, const char *path, unsigned size, unsigned samples) {
    const Camera eye = camera(box);
    const V diagonal = box.max - box.min;
    const float radius = 0.5f * std::sqrt(dot(diagonal, diagonal));
    std::vector<float> picture(std::size_t{size} * size);
    for (unsigned y = 0; y < size; ++y) {
        for (unsigned x = 0; x < size; ++x) {
            std::uint32_t state = y * 9781u + x * 6271u + 1u;
            float sum = 0;
            for (unsigned sample = 0; sample < samples; ++sample) {
                const float u = (static_cast<float>(x) + random(state)) / static_cast<float>(size) * 2 - 1;
                const float v = 1 - (static_cast<float>(y) + random(state)) / static_cast<float>(size) * 2;
                const float time = (static_cast<float>(sample) + random(state)) / static_cast<float>(samples);
                const V direction = unit(eye.forward + eye.right * (u * eye.scale) + eye.up * (v * eye.scale));
                sum += shade(scene, eye.eye, direction, std::min(time, 1.0f), radius);
            }
            picture[std::size_t{y} * size + x] = sum / static_cast<float>(samples);
        }
    }
    write(path, picture, size);
}

void run(const char *file, const char *out, double open, double close, bool is_still, unsigned size, unsigned samples) {
    auto options = meshmap::options();
    options.parallelism = MM_PARALLELISM_OFF;
    const auto proxy = meshmap::Proxy::of(meshmap::File::map(file, &options));
    const auto scratch = meshmap::Scratch::make();
    // One second from one snapshot to the next, whatever the file says: the shutter is given in snapshots.
    auto timing = MM_INIT(mm_timing);
    timing.clock = MM_CLOCK_STEP;
    timing.step = 1;

    const std::size_t vertices = proxy.counts(0, scratch).vertices;
    const auto triangles = proxy.triangles(0, scratch);
    std::vector<double> keys{open};
    if (!is_still) {
        keys = proxy.keys(&timing, open, close);
    }
    // Each key has its vertices, 16 bytes apart.
    std::vector<float> positions(vertices * keys.size() * (STRIDE / sizeof(float)));
    if (is_still) {
        proxy.positions(static_cast<std::size_t>(open), scratch, {positions.data(), STRIDE, vertices});
    } else {
        const meshmap::Buffer out(positions.data(), STRIDE, vertices * keys.size());
        proxy.positions_at(&timing, keys, MM_WRAP_CLAMP, scratch, out);
    }

    // The camera is the same for every shutter: it sees the first snapshot and the last.
    Box box;
    for (const std::size_t index : {std::size_t{0}, proxy.size() - 1}) {
        for (const auto &position : proxy.positions(index, scratch)) {
            box.add({position[0], position[1], position[2]});
        }
    }

    const Device device(rtcNewDevice("threads=1"));
    const Scene scene(rtcNewScene(device.object));
    const auto of_key = [&](std::size_t key) { return positions.data() + key * vertices * (STRIDE / sizeof(float)); };
    if (keys.size() == 1) {
        add_piece(device, scene, triangles, vertices, of_key(0), nullptr, 0, 1);
    }
    for (std::size_t key = 1; key < keys.size(); ++key) {
        const auto at = [&](double time) { return static_cast<float>((time - open) / (close - open)); };
        add_piece(device, scene, triangles, vertices, of_key(key - 1), of_key(key), at(keys[key - 1]), at(keys[key]));
    }
    rtcCommitScene(scene.object);
    if (rtcGetDeviceError(device.object) != RTC_ERROR_NONE) {
        throw std::runtime_error("Embree refuses the scene");
    }
    render(scene, box, out, size, samples);
    std::printf("%s: %zu keys, %zu vertices, %zu triangles\n", out, keys.size(), vertices, triangles.size());
}

} // namespace

int main(int count, char **arguments) {
    if (count < 5 || count > 7) {
        std::fprintf(stderr, "usage: %s FILE.cgeo OUT.ppm OPEN CLOSE [SIZE [SAMPLES]]\n", arguments[0]);
        std::fprintf(stderr, "       %s FILE.cgeo OUT.ppm --still SNAPSHOT [SIZE [SAMPLES]]\n", arguments[0]);
        return 2;
    }
    try {
        const bool is_still = std::strcmp(arguments[3], "--still") == 0;
        const double close = std::atof(arguments[4]), open = is_still ? close : std::atof(arguments[3]);
        const auto size = count > 5 ? static_cast<unsigned>(std::atoi(arguments[5])) : 512;
        const auto samples = count > 6 ? static_cast<unsigned>(std::atoi(arguments[6])) : 64;
        run(arguments[1], arguments[2], open, close, is_still, size, samples);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
