/* meshmap for C++17: a thin layer over meshmap.h, whose comments describe the functions.
 *
 * Handles are closed when they go out of scope, and moved, not copied (share() makes another one of a file, a mesh or a cache).
 * Failures are thrown as meshmap::Error. With MESHMAP_NO_EXCEPTIONS defined before this is included, every function that may
 * fail returns a meshmap::Result, which has a value or an Error; nothing is thrown then.
 *
 * Functions that have no method here are called by templates, which take handles, texts and numbers, and add the results:
 *
 *     auto joint = meshmap::call<mm_joint>(mm_rig_joint, rig, 3);            // the value that is stored in `out`
 *     auto box = meshmap::find<mm_bounds>(mm_mesh_bounds, mesh);             // a std::optional, empty for MM_ABSENT
 *     auto groups = meshmap::list<mm_group>(mm_mesh_groups, mesh);           // a std::vector of the array
 *     auto count = meshmap::fill(buffer, mm_rig_pose, rig, 0, scratch);      // an array in a Buffer
 *
 * mm_array_info and Span borrow memory: of a mesh as long as it lives, of a scratch or a snapshot until it is used again. The address
 * of an mm_array_info may be the text that was passed, which a SnapshotAddress holds.
 */
#ifndef MESHMAP_HPP
#define MESHMAP_HPP

#include "meshmap.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#ifndef MESHMAP_NO_EXCEPTIONS
#include <stdexcept>
#endif

#if __cplusplus >= 202002L
#include <span>
#endif

inline bool operator==(const mm_topology &a, const mm_topology &b) { return a.high == b.high && a.low == b.low; }
inline bool operator!=(const mm_topology &a, const mm_topology &b) { return !(a == b); }

namespace meshmap {

using Vec3 = std::array<float, 3>;
using Triangle = std::array<std::uint32_t, 3>;
using Matrix = std::array<std::array<float, 4>, 3>;

static_assert(sizeof(Vec3) == 12 && sizeof(Triangle) == 12 && sizeof(Matrix) == 48, "arrays have no padding");

/** Consecutive elements in borrowed memory. */
template <class T>
class Span {
public:
    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Container, class = decltype(std::declval<Container &>().data())>
    constexpr Span(Container &container) noexcept : data_(container.data()), size_(container.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }
#if __cplusplus >= 202002L
    constexpr operator std::span<T>() const noexcept { return {data_, size_}; }
#endif

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/** Memory that an array is written to: `capacity` elements, `stride` bytes apart (0: packed). */
struct Buffer {
    Buffer(void *data, std::size_t stride, std::size_t capacity) noexcept : data(data), stride(stride), capacity(capacity) {}
    template <class Container, class = decltype(std::declval<Container &>().data())>
    Buffer(Container &container) noexcept : Buffer(container.data(), sizeof(container[0]), container.size()) {
        // An empty buffer is too small; NULL would be a request for the count.
        if (data == nullptr) { data = this; }
    }

    void *data;
    std::size_t stride, capacity;
};

/** Bytes of a file. */
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/** The details of a failure. */
struct Failure {
    mm_status status = MM_OK;
    mm_format format = MM_FORMAT_UNKNOWN;
    std::string text, what, address, path, expected, found;
    /** The bytes that are wrong or missing, from the start of the file. */
    std::optional<ByteRange> bytes;
    /** The bytes that are wrong inside the decoded block at `bytes`. */
    std::optional<ByteRange> decoded;

    /** The last failure on this thread. */
    static Failure last(mm_status status) {
        auto error = MM_INIT(mm_error);
        if (mm_last_error(&error) != MM_OK || error.status != status) {
            return {status, MM_FORMAT_UNKNOWN, mm_status_name(status), {}, {}, {}, {}, {}, {}, {}};
        }
        const auto range = [](bool has, std::uint64_t begin, std::uint64_t end) {
            return has ? std::optional<ByteRange>(ByteRange{begin, end}) : std::nullopt;
        };
        return {status, error.format, error.text, error.what, error.address, error.path, error.expected, error.found,
                range(error.has_byte_range, error.byte_begin, error.byte_end),
                range(error.has_decoded_range, error.decoded_begin, error.decoded_end)};
    }
};

#ifdef MESHMAP_NO_EXCEPTIONS

using Error = Failure;

/** A value, or why there is none; of `void`, a value without content. */
template <class T>
class Result {
    struct Nothing {};
    using Value = std::conditional_t<std::is_void_v<T>, Nothing, T>;

public:
    template <class U = T, class = std::enable_if_t<std::is_void_v<U>>>
    Result() : value_(Nothing()) {}
    Result(Value value) : value_(std::move(value)) {}
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return value_.has_value(); }
    bool has_value() const noexcept { return value_.has_value(); }
    /** The value. Aborts the program if the result is an error. */
    Value &value() & {
        if (!value_) {
            std::abort();
        }
        return *value_;
    }
    Value &&value() && { return std::move(value()); }
    Value &operator*() & { return value(); }
    Value &&operator*() && { return std::move(value()); }
    Value *operator->() { return &value(); }
    const Error &error() const noexcept { return error_; }

private:
    std::optional<Value> value_;
    Error error_;
};

template <class T>
using Returns = Result<T>;

#define MESHMAP_FAIL(status) return ::meshmap::Failure::last(status)

#else

/** A failure, thrown. */
class Error : public std::runtime_error {
public:
    explicit Error(Failure failure)
        : std::runtime_error(failure.text), failure_(std::make_shared<const Failure>(std::move(failure))) {}

    mm_status status() const noexcept { return failure_->status; }
    const Failure &failure() const noexcept { return *failure_; }

private:
    std::shared_ptr<const Failure> failure_;
};

template <class T>
using Returns = T;

#define MESHMAP_FAIL(status) throw ::meshmap::Error(::meshmap::Failure::last(status))

#endif

/** Ends a function where a call fails. */
#define MESHMAP_TRY(status)                                                                                            \
    do {                                                                                                               \
        const mm_status mm_try_status = (status);                                                                      \
        if (mm_try_status != MM_OK) {                                                                                  \
            MESHMAP_FAIL(mm_try_status);                                                                               \
        }                                                                                                              \
    } while (0)

namespace detail {

/** Marks the classes with a handle for functions of meshmap.h. */
struct HasHandle {};

/** A handle that is closed once. */
template <class T, mm_status (*Close)(T *)>
class Handle : public HasHandle {
public:
    Handle() noexcept = default;
    explicit Handle(T *handle) noexcept : handle_(handle) {}
    Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { Close(handle_); }

    /** For functions of meshmap.h. */
    T *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

    using Raw = T;

protected:
    T *handle_ = nullptr;
};

template <class T>
T sized() noexcept {
    return MM_INIT(T);
}

/** The place that the last parameter of a function points to: a value, a struct with its size, or a handle. */
template <class T, class = void>
struct Out {
    T value{};
    T *pointer() noexcept { return &value; }
    T take() noexcept { return std::move(value); }
};
template <class T>
struct Out<T, decltype(static_cast<void>(std::declval<T &>().size = 0))> : Out<T, int> {
    Out() noexcept { this->value.size = sizeof(T); }
};
template <class T>
struct Out<T, decltype(static_cast<void>(static_cast<typename T::Raw *>(nullptr)))> {
    typename T::Raw *handle = nullptr;
    typename T::Raw **pointer() noexcept { return &handle; }
    T take() noexcept { return T(handle); }
};

/** The argument of a function of meshmap.h. */
template <class T>
auto raw(const T &argument) noexcept {
    if constexpr (std::is_base_of_v<HasHandle, T>) {
        return argument.get();
    } else if constexpr (std::is_same_v<T, std::string>) {
        return argument.c_str();
    } else {
        return argument;
    }
}

/** A value, or nothing if the file does not have it. */
template <class T>
Returns<std::optional<T>> unless_absent(mm_status status, T value) {
    if (status == MM_ABSENT) {
        return std::optional<T>();
    }
    MESHMAP_TRY(status);
    return std::optional<T>(std::move(value));
}

/** Memory for elements of any type. */
struct Memory {
    void *data;
    template <class T>
    operator T *() const noexcept {
        return static_cast<T *>(data);
    }
};

/** Reads an array in two calls, which end with memory, capacity and count: one for the count, one for the elements. */
template <class T, class Call>
Returns<std::vector<T>> read(Call call) {
    std::size_t count = 0;
    MESHMAP_TRY(call(Memory{nullptr}, std::size_t{0}, &count));
    std::vector<T> out(count);
    // No pointer means that only the count is wanted.
    if (count > 0) {
        MESHMAP_TRY(call(Memory{out.data()}, count, &count));
    }
    return out;
}

} // namespace detail

/** Calls a function that stores a value, a struct or a handle in its last parameter, and returns that. */
template <class T = void, class Function, class... Arguments>
Returns<T> call(Function function, const Arguments &...arguments) {
    if constexpr (std::is_void_v<T>) {
        MESHMAP_TRY(function(detail::raw(arguments)...));
        return Returns<void>();
    } else {
        detail::Out<T> out;
        MESHMAP_TRY(function(detail::raw(arguments)..., out.pointer()));
        return out.take();
    }
}

/** Like `call`; empty if the file does not have the value. */
template <class T, class Function, class... Arguments>
Returns<std::optional<T>> find(Function function, const Arguments &...arguments) {
    detail::Out<T> out;
    const mm_status status = function(detail::raw(arguments)..., out.pointer());
    return detail::unless_absent<T>(status, out.take());
}

/** Calls a function that writes an array of `T`, and returns all elements. */
template <class T, class Function, class... Arguments>
Returns<std::vector<T>> list(Function function, const Arguments &...arguments) {
    return detail::read<T>([&](detail::Memory out, std::size_t capacity, std::size_t *count) {
        return function(detail::raw(arguments)..., out, sizeof(T), capacity, count);
    });
}

/** Calls a function that writes an array, into a buffer, and returns the number of elements. */
template <class Function, class... Arguments>
Returns<std::size_t> fill(Buffer out, Function function, const Arguments &...arguments) {
    std::size_t count = 0;
    MESHMAP_TRY(function(detail::raw(arguments)..., detail::Memory{out.data}, out.stride, out.capacity, &count));
    return count;
}

namespace detail {

/** The type of an element of an array: a number, or an array of them. */
template <class T>
struct Element {
    static_assert(std::is_floating_point_v<T> || (std::is_integral_v<T> && sizeof(T) <= 4), "no array has such elements");
    static constexpr mm_scalar pick(mm_scalar one, mm_scalar two, mm_scalar four) {
        return sizeof(T) == 1 ? one : sizeof(T) == 2 ? two : four;
    }
    static constexpr mm_scalar scalar = std::is_floating_point_v<T> ? (sizeof(T) == 8 ? MM_SCALAR_F64 : MM_SCALAR_F32)
                                        : std::is_signed_v<T>       ? pick(MM_SCALAR_I8, MM_SCALAR_I16, MM_SCALAR_I32)
                                                                    : pick(MM_SCALAR_U8, MM_SCALAR_U16, MM_SCALAR_U32);
    static constexpr std::uint32_t components = 1;
};
template <class T, std::size_t Count>
struct Element<std::array<T, Count>> {
    static constexpr mm_scalar scalar = Element<T>::scalar;
    static constexpr std::uint32_t components = Element<T>::components * Count;
};

/** Runs a job whose exceptions must not cross C; returns 0, or another number if it throws. */
template <class Job>
int contained(Job job, std::exception_ptr *thrown = nullptr) noexcept {
#ifdef MESHMAP_NO_EXCEPTIONS
    static_cast<void>(thrown);
    job();
    return 0;
#else
    try {
        job();
        return 0;
    } catch (...) {
        if (thrown != nullptr) {
            *thrown = std::current_exception();
        }
        return -1;
    }
#endif
}

/** The findings or the meshes of a file. */
template <class T, class Entry, mm_status (*Close)(T *), mm_status (*Count)(const T *, std::size_t *),
          mm_status (*Get)(const T *, std::size_t, Entry *)>
class List : public Handle<T, Close> {
public:
    using Handle<T, Close>::Handle;
    std::size_t size() const noexcept {
        std::size_t count = 0;
        Count(this->handle_, &count);
        return count;
    }
    /** Its texts are valid as long as the list. */
    Returns<Entry> at(std::size_t index) const { return call<Entry>(Get, *this, index); }
};

} // namespace detail

/** The default options. */
inline mm_options options() noexcept {
    mm_options options{};
    mm_options_init(&options, sizeof options);
    return options;
}

using Findings = detail::List<mm_finding_list, mm_finding, mm_finding_list_free, mm_finding_list_count, mm_finding_list_get>;
using MeshList = detail::List<mm_mesh_list, mm_mesh_entry, mm_mesh_list_free, mm_mesh_list_count, mm_mesh_list_get>;

/** The elements of an array of `T`; empty if it has another type, or numbers that are not aligned for the processor. */
template <class T>
Span<const T> elements(const mm_array_info &array) noexcept {
    using Element = detail::Element<T>;
    const bool is_of = array.scalar == Element::scalar && array.is_aligned;
    const auto count = static_cast<std::size_t>(array.shape[0]);
    return is_of && array.byte_length == count * sizeof(T) ? Span<const T>(static_cast<const T *>(array.data), count)
                                                           : Span<const T>();
}

/** The address of an array of a snapshot, `snapshots[3].positions`, without memory of the heap. */
class SnapshotAddress {
public:
    SnapshotAddress(std::size_t snapshot, const char *array) noexcept {
        std::snprintf(text_.data(), text_.size(), "snapshots[%zu].%s", snapshot, array);
    }
    operator const char *() const noexcept { return text_.data(); }

private:
    std::array<char, 96> text_{};
};

/** Working memory: one for each thread. */
class Scratch : public detail::Handle<mm_scratch, mm_scratch_free> {
public:
    using Handle::Handle;
    static Returns<Scratch> make() { return call<Scratch>(mm_scratch_new); }
};

/** A flag that cancels the calls of threads. */
class Cancel : public detail::Handle<mm_cancel, mm_cancel_free> {
public:
    using Handle::Handle;
    static Returns<Cancel> make() { return call<Cancel>(mm_cancel_new); }
    void set(bool is_set = true) const noexcept { mm_cancel_set(handle_, is_set ? 1 : 0); }
    void use() const noexcept { mm_thread_set_cancel(handle_); }
    static void use_none() noexcept { mm_thread_set_cancel(nullptr); }
};

/** An attribute of a vertex layout, placed after the ones before it. A vector of them is a layout. */
inline mm_layout_attribute layout_attribute(mm_semantic semantic, mm_scalar scalar, std::uint32_t components,
                                            std::uint32_t set = 0) noexcept {
    auto attribute = detail::sized<mm_layout_attribute>();
    attribute.semantic = semantic;
    attribute.set = set;
    attribute.scalar = scalar;
    attribute.components = components;
    attribute.offset = SIZE_MAX;
    return attribute;
}

/** The indices of a mesh, as a GPU takes them. */
struct Indices {
    mm_index_format format = MM_INDEX_U16;
    std::vector<std::byte> bytes;
};

/** A mesh of a file of any format. */
class Mesh : public detail::Handle<mm_mesh, mm_mesh_free> {
public:
    using Handle::Handle;
    Returns<Mesh> share() const { return call<Mesh>(mm_mesh_ref, *this); }
    /** Its texts are valid as long as the mesh. */
    Returns<mm_mesh_info> info() const { return call<mm_mesh_info>(mm_mesh_get_info, *this); }
    /** The index of an attribute. */
    Returns<std::optional<std::size_t>> find(mm_semantic semantic, std::uint32_t set = 0, const char *name = nullptr) const {
        return meshmap::find<std::size_t>(mm_mesh_find_attribute, *this, semantic, set, name);
    }
    /** The stored elements of an attribute: `elements<Vec3>(mesh.view(0))`. */
    Returns<mm_array_info> view(std::size_t index) const {
        return call<mm_array_info>(mm_mesh_attribute_view, *this, index);
    }
    /** An attribute, converted into elements of this type. If `normalized`, integers stand for 0..1 or -1..1. */
    template <class T>
    Returns<std::vector<T>> read(std::size_t index, bool normalized = false) const {
        using Element = detail::Element<T>;
        return list<T>(mm_mesh_read_attribute, *this, index, Element::scalar, Element::components, normalized ? 1U : 0U);
    }
    Returns<std::vector<Triangle>> triangles() const { return list<Triangle>(mm_mesh_triangles, *this); }
    Returns<std::vector<std::byte>> vertices(Span<const mm_layout_attribute> layout, std::size_t stride = 0) const {
        return detail::read<std::byte>([&](detail::Memory out, std::size_t capacity, std::size_t *bytes) {
            return mm_mesh_write_interleaved(handle_, layout.data(), layout.size(), stride, out, capacity, bytes);
        });
    }
    Returns<Indices> indices(mm_index_format format = MM_INDEX_NARROWEST) const {
        Indices indices;
        std::size_t bytes = 0;
        MESHMAP_TRY(mm_mesh_write_indices(handle_, format, nullptr, 0, &bytes, &indices.format));
        indices.bytes.resize(bytes);
        std::byte *out = bytes == 0 ? nullptr : indices.bytes.data();
        MESHMAP_TRY(mm_mesh_write_indices(handle_, format, out, bytes, &bytes, nullptr));
        return indices;
    }
};

/** Reads a file for File::reader, on any thread, by several at a time. It must not use the file that it reads. */
class Reader {
public:
    virtual ~Reader() = default;
    /** The length in bytes, if it is known. Exceptions are failures of the reader. */
    virtual std::optional<std::uint64_t> length() { return std::nullopt; }
    /** Reads from `offset` on; returns the number of bytes, and 0 only if the file ends there. After a part, the rest is read. */
    virtual std::size_t read(std::uint64_t offset, Span<std::byte> out) = 0;
};

namespace detail {

/** A function object that is called back through C, until it returns false or throws. */
template <class Each>
struct Visit {
    Each &each;
    std::exception_ptr thrown = nullptr;

    template <class... Arguments>
    int call(const Arguments &...arguments) noexcept {
        bool goes_on = false;
        contained([&] { goes_on = each(arguments...); }, &thrown);
        return goes_on ? 0 : 1;
    }
    Returns<void> done(mm_status status) const {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        MESHMAP_TRY(status);
        return Returns<void>();
    }
};

} // namespace detail

/** A file of any format. */
class File : public detail::Handle<mm_file, mm_close> {
public:
    using Handle::Handle;
    static Returns<File> open(const std::string &path, const mm_options *options = nullptr) {
        return call<File>(mm_open, path, options);
    }
    /** Maps the file, which no process may truncate or write into meanwhile. */
    static Returns<File> map(const std::string &path, const mm_options *options = nullptr) {
        return call<File>(mm_open_map, path, options);
    }
    /** Keeps the bytes as long as anything that was read from the file. */
    static Returns<File> memory(std::vector<std::byte> bytes, const mm_options *options = nullptr) {
        using Bytes = std::vector<std::byte>;
        auto *own = new Bytes(std::move(bytes));
        const mm_release_fn release = [](void *user) { delete static_cast<Bytes *>(user); };
        return call<File>(mm_open_memory, own->data(), own->size(), release, own, options);
    }
    static Returns<File> reader(std::shared_ptr<Reader> reader, const mm_options *options = nullptr) {
        using Own = std::shared_ptr<Reader>;
        auto callbacks = detail::sized<mm_reader>();
        if (reader->length().has_value()) {
            callbacks.length = [](void *user, std::uint64_t *length) {
                return detail::contained([&] { *length = (*static_cast<Own *>(user))->length().value_or(UINT64_MAX); });
            };
        }
        callbacks.read = [](void *user, std::uint64_t offset, void *buffer, std::size_t length, std::size_t *stored) {
            const Span<std::byte> out(static_cast<std::byte *>(buffer), length);
            return detail::contained([&] { *stored = (*static_cast<Own *>(user))->read(offset, out); });
        };
        callbacks.release = [](void *user) { delete static_cast<Own *>(user); };
        callbacks.user = new Own(std::move(reader));
        return call<File>(mm_open_reader, &callbacks, options);
    }
    Returns<File> share() const { return call<File>(mm_file_ref, *this); }
    Returns<mm_format> format() const { return call<mm_format>(mm_file_format, *this); }
    Returns<MeshList> meshes() const { return call<MeshList>(mm_meshes, *this); }
    Returns<Findings> findings() const { return call<Findings>(mm_findings, *this); }
    Returns<Findings> validate() const { return call<Findings>(mm_validate, *this); }
    Returns<Mesh> mesh(const std::string &address) const { return call<Mesh>(mm_mesh_at, *this, address); }
    /** An array in memory of the scratch, or where it lies: `elements<Vec3>(file.array("snapshots[3].normals", scratch))`. */
    Returns<mm_array_info> array(const char *address, const Scratch &scratch) const {
        return call<mm_array_info>(mm_array, *this, address, scratch);
    }
    /** An array whose elements have this type. */
    template <class T>
    Returns<std::vector<T>> read(const char *address, const Scratch &scratch) const {
        using Element = detail::Element<T>;
        return list<T>(mm_read_into, *this, address, Element::scalar, Element::components, scratch);
    }
    template <class T>
    Returns<std::size_t> read_into(const char *address, const Scratch &scratch, Buffer out) const {
        using Element = detail::Element<T>;
        return fill(out, mm_read_into, *this, address, Element::scalar, Element::components, scratch);
    }
    /** Calls `each(const mm_array_info &)` with every array, until it returns false. */
    template <class Each>
    Returns<void> arrays(Each each) const {
        using Visit = detail::Visit<Each>;
        Visit visit{each};
        const auto call = [](void *user, const mm_array_info *array) { return static_cast<Visit *>(user)->call(*array); };
        return visit.done(mm_arrays(handle_, call, &visit));
    }
    /** Calls `each(const char *address, std::string_view text)` with every text, until it returns false. */
    template <class Each>
    Returns<void> texts(Each each) const {
        using Visit = detail::Visit<Each>;
        Visit visit{each};
        const auto call = [](void *user, const char *address, const char *text, std::size_t length) {
            return static_cast<Visit *>(user)->call(address, std::string_view(text, length));
        };
        return visit.done(mm_texts(handle_, call, &visit));
    }
};

/** The paths at which an image may be, relative to the folder of the file that names it; the best first. */
inline Returns<std::vector<std::string>> image_paths(const char *image) {
    std::vector<std::string> paths;
    for (;;) {
        std::size_t length = 0;
        const mm_status status = mm_image_path(image, paths.size(), nullptr, 0, &length);
        if (status == MM_ABSENT) {
            return paths;
        }
        MESHMAP_TRY(status);
        std::string path(length, '\0');
        // The byte 0 goes where the string has its own.
        MESHMAP_TRY(mm_image_path(image, paths.size(), path.data(), length + 1, &length));
        paths.push_back(std::move(path));
    }
}

/** A matrix of 4 x 4 numbers, column by column. */
using Matrix4 = std::array<float, 16>;

/** A file as it is drawn: shapes, materials, joints and clips. Its texts are valid as long as the scene. */
class Scene : public detail::Handle<mm_scene, mm_scene_free> {
public:
    using Handle::Handle;
    static Returns<Scene> of(const File &file, const mm_scene_options *options = nullptr) {
        return call<Scene>(mm_scene_new, file, options);
    }
    Returns<mm_scene_info> info() const { return call<mm_scene_info>(mm_scene_get_info, *this); }
    Returns<const char *> remark(std::size_t index) const { return call<const char *>(mm_scene_remark, *this, index); }
    Returns<mm_shape> shape(std::size_t index) const { return call<mm_shape>(mm_scene_get_shape, *this, index); }
    /** `material_id` is mm_group.material of triangles. */
    Returns<mm_material> material(std::size_t shape, std::uint32_t material_id) const {
        return call<mm_material>(mm_scene_get_material, *this, shape, material_id);
    }
    /** A shape at a key, to be drawn. */
    Returns<Mesh> mesh(std::size_t shape, std::size_t key = 0) const { return call<Mesh>(mm_scene_mesh, *this, shape, key); }
    Returns<mm_scene_joint> joint(std::size_t index) const { return call<mm_scene_joint>(mm_scene_get_joint, *this, index); }
    Returns<mm_clip> clip(std::size_t index) const { return call<mm_clip>(mm_scene_get_clip, *this, index); }
    Returns<mm_event> event(std::size_t clip, std::size_t index) const {
        return call<mm_event>(mm_scene_get_event, *this, clip, index);
    }
    /** A matrix for each joint, and the identity. `clip` SIZE_MAX is the bind pose. */
    Returns<std::vector<Matrix4>> pose(std::size_t clip, double seconds, mm_matrices kind = MM_MATRICES_SKIN) const {
        return list<Matrix4>(mm_scene_pose, *this, clip, seconds, kind);
    }
};

/** A decoded snapshot of a CGeo file, in memory that is used again. */
class Snapshot : public detail::Handle<mm_snapshot, mm_snapshot_free> {
public:
    using Handle::Handle;
    static Returns<Snapshot> make() { return call<Snapshot>(mm_snapshot_new); }
    Returns<mm_snapshot_info> info() const { return call<mm_snapshot_info>(mm_snapshot_get_info, *this); }
    /** An array of vertices, by its name. */
    Returns<Span<const Vec3>> view(const char *name = "positions") const {
        auto array = detail::sized<mm_array_info>();
        MESHMAP_TRY(mm_snapshot_view(handle_, name, nullptr, &array));
        return elements<Vec3>(array);
    }
    /** An array by its name, whose elements have this type. */
    template <class T>
    Returns<std::vector<T>> copy(const char *name, const Scratch &scratch) const {
        using Element = detail::Element<T>;
        return list<T>(mm_snapshot_copy, *this, name, Element::scalar, Element::components, scratch);
    }
};

/** A CGeo file. */
class Proxy : public File {
public:
    /** Fails with MM_ERROR_FORMAT for files of other formats. */
    static Returns<Proxy> of(File file) {
        auto info = detail::sized<mm_cgeo_info>();
        MESHMAP_TRY(mm_cgeo_get_info(file.get(), &info));
        return Proxy(std::move(file), info);
    }
    const mm_cgeo_info &info() const noexcept { return info_; }
    std::size_t size() const noexcept { return info_.snapshot_count; }
    Returns<mm_cgeo_counts> counts(std::size_t snapshot, const Scratch &scratch) const {
        return call<mm_cgeo_counts>(mm_cgeo_get_counts, *this, snapshot, scratch);
    }
    Returns<std::optional<mm_timing>> timing() const { return find<mm_timing>(mm_cgeo_timing, *this); }
    /** A property of the header, or with nullptr the whole header. */
    Returns<std::optional<std::string>> property(const char *name) const {
        std::size_t length = 0;
        const mm_status status = mm_cgeo_property(handle_, name, nullptr, 0, &length);
        std::string out(length, '\0');
        if (status == MM_OK) {
            // The byte 0 goes where the string has its own.
            MESHMAP_TRY(mm_cgeo_property(handle_, name, out.data(), length + 1, &length));
        }
        return detail::unless_absent(status, std::move(out));
    }
    Returns<Span<const Vec3>> positions(std::size_t snapshot, const Scratch &scratch) const {
        auto array = detail::sized<mm_array_info>();
        MESHMAP_TRY(mm_array(handle_, SnapshotAddress(snapshot, "positions"), scratch.get(), &array));
        return elements<Vec3>(array);
    }
    Returns<std::size_t> positions(std::size_t snapshot, const Scratch &scratch, Buffer out) const {
        return read_into<Vec3>(SnapshotAddress(snapshot, "positions"), scratch, out);
    }
    Returns<std::vector<Triangle>> triangles(std::size_t snapshot, const Scratch &scratch) const {
        return File::read<Triangle>(SnapshotAddress(snapshot, "triangles.positions"), scratch);
    }
    /** Decodes a snapshot, or parts of it. */
    Returns<void> decode(std::size_t snapshot, const Scratch &scratch, const Snapshot &out, mm_parts parts = MM_PARTS_ALL,
                         std::size_t sample = 0) const {
        return call(mm_snapshot_read, *this, snapshot, sample, parts, scratch, out);
    }
    /** The times that a shutter needs. `timing` null: the times of the file. */
    Returns<std::vector<double>> keys(const mm_timing *timing, double open, double close, mm_wrap wrap = MM_WRAP_CLAMP) const {
        return list<double>(mm_cgeo_keys, *this, timing, open, close, wrap, nullptr);
    }
    /** All positions of the first time, then of the next time. */
    Returns<std::size_t> positions_at(const mm_timing *timing, Span<const double> seconds, mm_wrap wrap,
                                      const Scratch &scratch, Buffer out, const mm_cache *cache = nullptr) const {
        return fill(out, mm_cgeo_positions_at, *this, timing, seconds.data(), seconds.size(), wrap, cache, scratch);
    }

private:
    Proxy(File file, const mm_cgeo_info &info) : File(std::move(file)), info_(info) {}

    mm_cgeo_info info_;
};

/** Decodes snapshots straight into vertex buffers: one for each thread and each proxy.
 *  `call<mm_topology>(mm_vertex_writer_write, writer, proxy, snapshot, out, capacity, nullptr)` writes one. */
class VertexWriter : public detail::Handle<mm_vertex_writer, mm_vertex_writer_free> {
public:
    using Handle::Handle;
    static Returns<VertexWriter> make(Span<const mm_layout_attribute> layout, std::size_t stride = 0) {
        return call<VertexWriter>(mm_vertex_writer_new, layout.data(), layout.size(), stride);
    }
    /** The index buffer of a snapshot; `vertex_count` receives the number of vertices. */
    Returns<std::vector<std::uint32_t>> indices(const Proxy &proxy, std::size_t snapshot, std::size_t &vertex_count) const {
        return detail::read<std::uint32_t>([&](detail::Memory out, std::size_t capacity, std::size_t *count) {
            return mm_vertex_writer_indices(handle_, proxy.get(), snapshot, out, 0, capacity, count, &vertex_count);
        });
    }
};

/** Decoded snapshots, shared by all threads. */
class Cache : public detail::Handle<mm_cache, mm_cache_free> {
public:
    using Handle::Handle;
    using Handle::get;
    static Returns<Cache> make(std::uint64_t capacity_bytes) { return call<Cache>(mm_cache_new, capacity_bytes); }
    Returns<Cache> share() const { return call<Cache>(mm_cache_ref, *this); }
    Returns<void> get(const Proxy &proxy, std::size_t snapshot, const Snapshot &out, mm_parts parts = MM_PARTS_ALL) const {
        return call(mm_cache_get, *this, proxy, snapshot, parts, out);
    }
};

/** The skeleton of an IQM file, and animations for it. */
class Rig : public detail::Handle<mm_rig, mm_rig_free> {
public:
    using Handle::Handle;
    static Returns<Rig> of(const File &file, const File *animation = nullptr) {
        return call<Rig>(mm_rig_new, file, animation == nullptr ? nullptr : animation->get());
    }
};

} // namespace meshmap

#endif
