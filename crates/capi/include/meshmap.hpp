/* meshmap for C++17: a thin layer over meshmap.h, whose comments describe the functions. Everything of meshmap.h is here.
 *
 * Handles are closed when they go out of scope, and moved, not copied (share() makes another one of a file, a mesh or a cache).
 * Failures are thrown as meshmap::Error. With MESHMAP_NO_EXCEPTIONS defined before this is included, every function that may
 * fail returns a meshmap::Result, which has a value or an Error; nothing is thrown then.
 *
 * Absent data is an empty std::optional, not a failure.
 */
#ifndef MESHMAP_HPP
#define MESHMAP_HPP

#include "meshmap.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifndef MESHMAP_NO_EXCEPTIONS
#include <exception>
#include <stdexcept>
#endif

#if __cplusplus >= 202002L
#include <span>
#endif

namespace meshmap {

using Format = mm_format;
using Bounds = mm_bounds;
using Counts = mm_cgeo_counts;
using Dialect = mm_cgeo_dialect;
using Topology = mm_topology;
using Timing = mm_timing;
using Key = mm_cgeo_key;
using Group = mm_group;
using Options = mm_options;
using View = mm_view;
using Vec3 = std::array<float, 3>;
using Triangle = std::array<std::uint32_t, 3>;
using Matrix = std::array<std::array<float, 4>, 3>;

static_assert(sizeof(Vec3) == 12 && sizeof(Triangle) == 12 && sizeof(Matrix) == 48, "arrays have no padding");

inline bool operator==(const mm_topology &a, const mm_topology &b) { return a.high == b.high && a.low == b.low; }
inline bool operator!=(const mm_topology &a, const mm_topology &b) { return !(a == b); }

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

/** Bytes of a file. */
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/** The details of a failure. */
struct Failure {
    mm_status status = MM_OK;
    Format format = MM_FORMAT_UNKNOWN;
    std::string text, what, address, path, expected, found;
    /** The bytes that are wrong or missing, from the start of the file. */
    std::optional<ByteRange> bytes;
    /** The bytes that are wrong inside the decoded block at `bytes`. */
    std::optional<ByteRange> decoded;

    /** That of the last function that failed on this thread. */
    static Failure last(mm_status status) {
        Failure failure;
        failure.status = status;
        mm_error error = MM_INIT(mm_error);
        if (mm_last_error(&error) != MM_OK || error.status != status) {
            failure.text = mm_status_name(status);
            return failure;
        }
        failure.format = error.format;
        failure.text = error.text;
        failure.what = error.what;
        failure.address = error.address;
        failure.path = error.path;
        failure.expected = error.expected;
        failure.found = error.found;
        if (error.has_byte_range) {
            failure.bytes = ByteRange{error.byte_begin, error.byte_end};
        }
        if (error.has_decoded_range) {
            failure.decoded = ByteRange{error.decoded_begin, error.decoded_end};
        }
        return failure;
    }
};

#ifdef MESHMAP_NO_EXCEPTIONS

using Error = Failure;

/** A value, or why there is none. */
template <class T>
class Result {
public:
    Result(T value) : value_(std::move(value)) {}
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return value_.has_value(); }
    bool has_value() const noexcept { return value_.has_value(); }
    /** The value. Aborts the program if the result is an error. */
    T &value() & {
        if (!value_) {
            std::abort();
        }
        return *value_;
    }
    T &&value() && { return std::move(value()); }
    T &operator*() & { return value(); }
    T &&operator*() && { return std::move(value()); }
    T *operator->() { return &value(); }
    const Error &error() const noexcept { return error_; }

private:
    std::optional<T> value_;
    Error error_;
};

/** Done, or why not. */
template <>
class Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return error_.status == MM_OK; }
    bool has_value() const noexcept { return error_.status == MM_OK; }
    void value() const {
        if (error_.status != MM_OK) {
            std::abort();
        }
    }
    const Error &error() const noexcept { return error_; }

private:
    Error error_;
};

template <class T>
using Returns = Result<T>;

namespace detail {
inline Failure fail(mm_status status) { return Failure::last(status); }
} // namespace detail

/** Returns early where a call fails. */
#define MESHMAP_TRY(status)                                                                                           \
    do {                                                                                                               \
        const mm_status mm_try_status = (status);                                                                      \
        if (mm_try_status != MM_OK) {                                                                                  \
            return ::meshmap::detail::fail(mm_try_status);                                                             \
        }                                                                                                              \
    } while (0)

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

#define MESHMAP_TRY(status)                                                                                           \
    do {                                                                                                               \
        const mm_status mm_try_status = (status);                                                                      \
        if (mm_try_status != MM_OK) {                                                                                  \
            throw ::meshmap::Error(::meshmap::Failure::last(mm_try_status));                                           \
        }                                                                                                              \
    } while (0)

#endif

namespace detail {

/** A handle that is closed once. */
template <class T, mm_status (*Close)(T *)>
class Handle {
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
struct Out<T, decltype(static_cast<void>(T::size))> : Out<T, int> {
    Out() noexcept { this->value.size = sizeof(T); }
};
template <class T>
struct Out<T, decltype(static_cast<void>(static_cast<typename T::Raw *>(nullptr)))> {
    typename T::Raw *handle = nullptr;
    typename T::Raw **pointer() noexcept { return &handle; }
    T take() noexcept { return T(handle); }
};

template <class T, class Function, class... Arguments>
Returns<T> got(Function function, Arguments... arguments) {
    Out<T> out;
    MESHMAP_TRY(function(arguments..., out.pointer()));
    return out.take();
}

inline Returns<void> done(mm_status status) {
    MESHMAP_TRY(status);
    return Returns<void>();
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

template <class T, class Function, class... Arguments>
Returns<std::optional<T>> maybe(Function function, Arguments... arguments) {
    Out<T> out;
    const mm_status status = function(arguments..., out.pointer());
    return unless_absent<T>(status, out.take());
}

/** A vector as the allocator of functions named `_new`. */
template <class T>
struct Grown {
    std::vector<T> elements;

    static void *allocate(void *user, std::size_t bytes) noexcept {
        auto &elements = static_cast<Grown *>(user)->elements;
#ifndef MESHMAP_NO_EXCEPTIONS
        try {
#endif
            elements.resize(bytes / sizeof(T));
            return elements.data();
#ifndef MESHMAP_NO_EXCEPTIONS
        } catch (...) {
            return nullptr;
        }
#endif
    }
    mm_allocator hooks() noexcept {
        auto hooks = MM_INIT(mm_allocator);
        hooks.user = this;
        hooks.allocate = allocate;
        return hooks;
    }
};

/** Reads an array in two calls, `call(out, capacity, count)`: one for the count, one for the elements. */
template <class T, class Call>
mm_status fetch(std::vector<T> &out, Call call) {
    std::size_t count = 0;
    mm_status status = call(static_cast<T *>(nullptr), std::size_t{0}, &count);
    if (status == MM_OK) {
        out.resize(count);
        // No pointer means that only the count is wanted.
        status = count == 0 ? MM_OK : call(out.data(), count, &count);
    }
    return status;
}

/** An array that is written packed: one call for the count, one for the elements. */
template <class T, class Function, class... Arguments>
Returns<std::vector<T>> list(Function function, Arguments... arguments) {
    std::vector<T> out;
    MESHMAP_TRY(fetch(out, [&](T *to, std::size_t capacity, std::size_t *count) {
        return function(arguments..., to, std::size_t{0}, capacity, count);
    }));
    return out;
}

/** An array that a function named `_new` makes: a call that ends with the allocator, the start and the count. */
template <class T, class Start, class Function, class... Arguments>
Returns<std::vector<T>> grown(Function function, Arguments... arguments) {
    Grown<T> out;
    const auto hooks = out.hooks();
    Start *start = nullptr;
    MESHMAP_TRY(function(arguments..., &hooks, &start, nullptr));
    return std::move(out.elements);
}

} // namespace detail

/** Options that hold unless something else is said. */
inline Options options() noexcept {
    Options options{};
    mm_options_init(&options, sizeof options);
    return options;
}

inline std::string_view version() noexcept { return mm_version(); }
inline std::string_view format_name(Format format) noexcept { return mm_format_name(format); }
inline std::string_view status_name(mm_status status) noexcept { return mm_status_name(status); }
inline std::size_t scalar_size(mm_scalar scalar) noexcept { return mm_scalar_size(scalar); }
/** The handles of this process that are open. */
inline std::size_t handle_count() noexcept { return mm_handle_count(); }

/** Working memory: one for each thread. */
class Scratch : public detail::Handle<mm_scratch, mm_scratch_free> {
public:
    using Handle::Handle;
    static Returns<Scratch> make() { return detail::got<Scratch>(mm_scratch_new); }
};

/** A flag that cancels the calls of threads. */
class Cancel : public detail::Handle<mm_cancel, mm_cancel_free> {
public:
    using Handle::Handle;
    static Returns<Cancel> make() { return detail::got<Cancel>(mm_cancel_new); }
    void set(bool is_set = true) const noexcept { mm_cancel_set(handle_, is_set ? 1 : 0); }
    /** Makes it the flag of the calling thread, instead of an earlier one. */
    void use() const noexcept { mm_thread_set_cancel(handle_); }
    /** The calling thread has no flag from now on. */
    static void use_none() noexcept { mm_thread_set_cancel(nullptr); }
};

/** Findings of a file or a mesh. */
class Findings : public detail::Handle<mm_finding_list, mm_finding_list_free> {
public:
    using Handle::Handle;
    std::size_t size() const noexcept {
        std::size_t count = 0;
        mm_finding_list_count(handle_, &count);
        return count;
    }
    Returns<mm_finding> at(std::size_t index) const {
        return detail::got<mm_finding>(mm_finding_list_get, handle_, index);
    }
};

/** The meshes of a file. */
class MeshList : public detail::Handle<mm_mesh_list, mm_mesh_list_free> {
public:
    using Handle::Handle;
    std::size_t size() const noexcept {
        std::size_t count = 0;
        mm_mesh_list_count(handle_, &count);
        return count;
    }
    Returns<mm_mesh_entry> at(std::size_t index) const {
        return detail::got<mm_mesh_entry>(mm_mesh_list_get, handle_, index);
    }
};

/** A vertex layout, made attribute by attribute. */
class Layout {
public:
    Layout &with(mm_semantic semantic, std::uint32_t set, mm_scalar scalar, std::uint32_t components,
                 bool normalized = false) {
        auto attribute = detail::sized<mm_layout_attribute>();
        attribute.semantic = semantic;
        attribute.set = set;
        attribute.scalar = scalar;
        attribute.components = components;
        attribute.normalized = normalized ? 1 : 0;
        attribute.offset = SIZE_MAX;
        attributes_.push_back(attribute);
        return *this;
    }
    /** Gives the attribute that was added last a value for meshes without it. */
    Layout &or_else(std::array<float, 4> value) {
        if (!attributes_.empty()) {
            attributes_.back().has_default = 1;
            for (std::size_t i = 0; i < 4; ++i) {
                attributes_.back().default_value[i] = value[i];
            }
        }
        return *this;
    }
    /** Moves the attribute that was added last to an offset. */
    Layout &at(std::size_t offset) {
        if (!attributes_.empty()) {
            attributes_.back().offset = offset;
        }
        return *this;
    }
    /** Sets the offsets that were not given, and returns the stride. */
    Returns<std::size_t> resolve() {
        return detail::got<std::size_t>(mm_layout_resolve, attributes_.data(), attributes_.size());
    }
    const std::vector<mm_layout_attribute> &attributes() const noexcept { return attributes_; }

private:
    std::vector<mm_layout_attribute> attributes_;
};

/** The indices of a mesh, as a GPU takes them. */
struct Indices {
    mm_index_format format = MM_INDEX_U16;
    std::vector<std::byte> bytes;
};

/** A mesh of a file of any format. */
class Mesh : public detail::Handle<mm_mesh, mm_mesh_free> {
public:
    using Handle::Handle;
    Returns<Mesh> share() const { return detail::got<Mesh>(mm_mesh_ref, handle_); }
    Returns<Mesh> by_material() const { return detail::got<Mesh>(mm_mesh_by_material, handle_); }
    /** Its texts are valid as long as the mesh. */
    Returns<mm_mesh_info> info() const { return detail::got<mm_mesh_info>(mm_mesh_get_info, handle_); }
    Returns<std::optional<Bounds>> bounds() const { return detail::maybe<Bounds>(mm_mesh_bounds, handle_); }
    Returns<Findings> findings() const { return detail::got<Findings>(mm_mesh_findings, handle_); }
    Returns<mm_attribute_info> attribute(std::size_t index) const {
        return detail::got<mm_attribute_info>(mm_mesh_attribute, handle_, index);
    }
    std::optional<std::size_t> find(mm_semantic semantic, std::uint32_t set = 0, const char *name = nullptr) const noexcept {
        std::size_t index = 0;
        const bool found = mm_mesh_find_attribute(handle_, semantic, set, name, &index) == MM_OK;
        return found ? std::optional<std::size_t>(index) : std::nullopt;
    }
    /** Valid as long as the mesh. */
    Returns<View> view(std::size_t index) const { return detail::got<View>(mm_mesh_attribute_view, handle_, index); }
    /** Positions that are stored as floats, where they lie; valid as long as the mesh. */
    Returns<Span<const Vec3>> positions() const {
        const float *first = nullptr;
        std::size_t count = 0;
        MESHMAP_TRY(mm_mesh_positions(handle_, &first, &count));
        return Span<const Vec3>(reinterpret_cast<const Vec3 *>(first), count);
    }
    /** An attribute as `components` floats per vertex. */
    Returns<std::vector<float>> read(std::size_t index, std::uint32_t components) const {
        return detail::grown<float, void>(mm_mesh_read_attribute_new, handle_, index, MM_SCALAR_F32, components,
            std::uint32_t{0});
    }
    Returns<std::vector<std::byte>> vertices(const Layout &layout, std::size_t stride = 0) const {
        const auto &attributes = layout.attributes();
        std::size_t bytes = 0;
        MESHMAP_TRY(mm_mesh_write_interleaved(handle_, attributes.data(), attributes.size(), stride, nullptr, 0, &bytes));
        std::vector<std::byte> out(bytes);
        std::byte *start = out.empty() ? nullptr : out.data();
        MESHMAP_TRY(
            mm_mesh_write_interleaved(handle_, attributes.data(), attributes.size(), stride, start, bytes, &bytes));
        return out;
    }
    Returns<Indices> indices(mm_index_format format = MM_INDEX_NARROWEST) const {
        Indices out;
        std::size_t bytes = 0;
        MESHMAP_TRY(mm_mesh_write_indices(handle_, format, nullptr, 0, &bytes, &out.format));
        out.bytes.resize(bytes);
        std::byte *start = out.bytes.empty() ? nullptr : out.bytes.data();
        MESHMAP_TRY(mm_mesh_write_indices(handle_, format, start, bytes, &bytes, &out.format));
        return out;
    }
    /** An attribute into the caller's buffer; returns the number of vertices. */
    Returns<std::size_t> read(std::size_t index, mm_scalar scalar, std::uint32_t components, bool normalized, void *out,
                              std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_mesh_read_attribute, handle_, index, scalar, components, normalized ? 1U : 0U,
            out, stride, capacity);
    }
    Returns<std::vector<Triangle>> triangles() const {
        return detail::grown<Triangle, std::uint32_t>(mm_mesh_triangles_new, handle_);
    }
    /** The triangles into the caller's buffer; returns their number. */
    Returns<std::size_t> triangles(std::uint32_t *out, std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_mesh_triangles, handle_, out, stride, capacity);
    }
    Returns<std::vector<Group>> groups() const { return detail::list<Group>(mm_mesh_groups, handle_); }
    /** The material ID of each triangle; empty if the mesh has none. */
    Returns<std::optional<std::vector<std::uint32_t>>> material_ids() const {
        std::vector<std::uint32_t> out;
        const mm_status status = detail::fetch(out, [&](std::uint32_t *to, std::size_t capacity, std::size_t *count) {
            return mm_mesh_material_ids(handle_, to, 0, capacity, count);
        });
        return detail::unless_absent(status, std::move(out));
    }
};

/** An array of a file. */
class Array : public detail::Handle<mm_array, mm_array_free> {
public:
    using Handle::Handle;
    /** Valid as long as the array. */
    Returns<mm_array_info> info() const { return detail::got<mm_array_info>(mm_array_get_info, handle_); }
};

/** Reads a file for open_reader(), on any thread, by several at a time. It must not use the file that it reads. */
class Reader {
public:
    virtual ~Reader() = default;
    /** The length in bytes, if it is known. Exceptions are failures of the reader. */
    virtual std::optional<std::uint64_t> length() { return std::nullopt; }
    /** Reads from `offset` on; returns the number of bytes, and 0 only if the file ends there. After a part, the rest is read. */
    virtual std::size_t read(std::uint64_t offset, Span<std::byte> out) = 0;
};

namespace detail {

/** A function object that is called back through C, which no exception may cross. */
template <class Each>
struct Visit {
    Each &each;
#ifndef MESHMAP_NO_EXCEPTIONS
    std::exception_ptr thrown = nullptr;

    template <class... Arguments>
    int call(const Arguments &...arguments) noexcept {
        try {
            return each(arguments...) ? 0 : 1;
        } catch (...) {
            thrown = std::current_exception();
            return 1;
        }
    }
    void rethrow() const {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    }
#else
    template <class... Arguments>
    int call(const Arguments &...arguments) noexcept {
        return each(arguments...) ? 0 : 1;
    }
    void rethrow() const noexcept {}
#endif
};

extern "C" {
inline void mm_detail_delete_bytes(void *user) { delete static_cast<std::vector<std::byte> *>(user); }
inline void mm_detail_delete_reader(void *user) { delete static_cast<std::shared_ptr<Reader> *>(user); }
inline int mm_detail_length(void *user, std::uint64_t *length) {
#ifndef MESHMAP_NO_EXCEPTIONS
    try {
#endif
        // Called only if the length was known when the file was opened.
        *length = (*static_cast<std::shared_ptr<Reader> *>(user))->length().value_or(UINT64_MAX);
        return 0;
#ifndef MESHMAP_NO_EXCEPTIONS
    } catch (...) {
        return -1;
    }
#endif
}
inline int mm_detail_read(void *user, std::uint64_t offset, void *buffer, std::size_t length, std::size_t *stored) {
#ifndef MESHMAP_NO_EXCEPTIONS
    try {
#endif
        auto &reader = **static_cast<std::shared_ptr<Reader> *>(user);
        *stored = reader.read(offset, Span<std::byte>(static_cast<std::byte *>(buffer), length));
        return 0;
#ifndef MESHMAP_NO_EXCEPTIONS
    } catch (...) {
        return -1;
    }
#endif
}
}

} // namespace detail

/** A file of any format. */
class File : public detail::Handle<mm_file, mm_close> {
public:
    using Handle::Handle;
    static Returns<File> open(const std::string &path, const Options *how = nullptr) {
        return detail::got<File>(mm_open, path.c_str(), how);
    }
    /** Maps the file, which no process may truncate or write into meanwhile. */
    static Returns<File> map(const std::string &path, const Options *how = nullptr) {
        return detail::got<File>(mm_open_map, path.c_str(), how);
    }
    /** Keeps the bytes as long as anything that was read from the file. */
    static Returns<File> memory(std::vector<std::byte> bytes, const Options *how = nullptr) {
        auto *owner = new std::vector<std::byte>(std::move(bytes));
        return detail::got<File>(mm_open_memory, owner->data(), owner->size(), detail::mm_detail_delete_bytes, owner, how);
    }
    static Returns<File> reader(std::shared_ptr<Reader> reader, const Options *how = nullptr) {
        auto callbacks = detail::sized<mm_reader>();
        const bool is_known = reader->length().has_value();
        callbacks.user = new std::shared_ptr<Reader>(std::move(reader));
        callbacks.length = is_known ? detail::mm_detail_length : nullptr;
        callbacks.read = detail::mm_detail_read;
        callbacks.release = detail::mm_detail_delete_reader;
        return detail::got<File>(mm_open_reader, &callbacks, how);
    }
    Returns<File> share() const { return detail::got<File>(mm_file_ref, handle_); }
    Format format() const noexcept {
        Format format = MM_FORMAT_UNKNOWN;
        mm_file_format(handle_, &format);
        return format;
    }
    Returns<MeshList> meshes() const { return detail::got<MeshList>(mm_meshes, handle_); }
    Returns<mm_mesh_counts> counts(const std::string &address) const {
        return detail::got<mm_mesh_counts>(mm_mesh_get_counts, handle_, address.c_str());
    }
    Returns<Findings> findings() const { return detail::got<Findings>(mm_findings, handle_); }
    Returns<Findings> validate() const { return detail::got<Findings>(mm_validate, handle_); }
    Returns<Mesh> mesh(const std::string &address) const {
        return detail::got<Mesh>(mm_mesh_at, handle_, address.c_str());
    }
    Returns<std::optional<Array>> array(const std::string &address) const {
        return detail::maybe<Array>(mm_array_at, handle_, address.c_str());
    }
    /** Calls `each(const mm_array_info &)` with every array, until it returns false. */
    template <class Each>
    Returns<void> arrays(Each each) const {
        detail::Visit<Each> visit{each};
        const mm_status status = mm_arrays(
            handle_,
            [](void *user, const mm_array_info *array) { return static_cast<detail::Visit<Each> *>(user)->call(*array); },
            &visit);
        visit.rethrow();
        MESHMAP_TRY(status);
        return Returns<void>();
    }
    /** Calls `each(std::string_view address, std::string_view text)` with every text, until it returns false. */
    template <class Each>
    Returns<void> texts(Each each) const {
        detail::Visit<Each> visit{each};
        const mm_status status = mm_texts(
            handle_,
            [](void *user, const char *address, const char *text, std::size_t length) {
                return static_cast<detail::Visit<Each> *>(user)->call(std::string_view(address),
                                                                      std::string_view(text, length));
            },
            &visit);
        visit.rethrow();
        MESHMAP_TRY(status);
        return Returns<void>();
    }
    /** The faces of a level of detail of a Second Life mesh; empty if the file does not have the level. */
    Returns<std::optional<MeshList>> lod(const std::string &name) const {
        return detail::maybe<MeshList>(mm_slmesh_lod, handle_, name.c_str());
    }
    /** The level that a viewer shows if it wants this one; empty if the file has no levels. */
    Returns<std::optional<std::string_view>> best_lod(const std::string &wanted) const {
        const char *name = nullptr;
        const mm_status status = mm_slmesh_best_lod(handle_, wanted.c_str(), &name);
        return detail::unless_absent(status, std::string_view(name == nullptr ? "" : name));
    }
    /** The stored bytes of a level, and an estimate of its triangles; empty if the file does not have the level. */
    Returns<std::optional<std::pair<ByteRange, std::uint64_t>>> lod_range(const std::string &name) const {
        ByteRange range;
        std::uint64_t estimate = 0;
        const mm_status status = mm_slmesh_lod_range(handle_, name.c_str(), &range.begin, &range.end, &estimate);
        return detail::unless_absent(status, std::pair<ByteRange, std::uint64_t>(range, estimate));
    }
};

/** A decoded snapshot of a CGeo file, in memory that is used again. */
class Snapshot : public detail::Handle<mm_snapshot, mm_snapshot_free> {
public:
    using Handle::Handle;
    static Returns<Snapshot> make() { return detail::got<Snapshot>(mm_snapshot_new); }
    Returns<mm_snapshot_info> info() const { return detail::got<mm_snapshot_info>(mm_snapshot_get_info, handle_); }
    /** Positions, normals or texture coordinates; valid until the snapshot is filled again. */
    Returns<Span<const Vec3>> view(mm_cgeo_array array = MM_CGEO_POSITIONS, std::uint32_t set = 0) const {
        auto view = detail::sized<View>();
        MESHMAP_TRY(mm_snapshot_view(handle_, array, set, &view));
        return Span<const Vec3>(static_cast<const Vec3 *>(view.data), view.count);
    }
    /** Any array into the caller's buffer; returns the number of elements. */
    Returns<std::size_t> copy(mm_cgeo_array array, std::uint32_t set, const Scratch &scratch, void *out, std::size_t stride,
                              std::size_t capacity) const {
        return detail::got<std::size_t>(mm_snapshot_copy, handle_, array, set, scratch.get(), out, stride, capacity);
    }
    Returns<std::vector<Triangle>> triangles(mm_cgeo_array array = MM_CGEO_POSITION_INDICES, std::uint32_t set = 0) const {
        return detail::list<Triangle>(mm_snapshot_copy, handle_, array, set, nullptr);
    }
};

/** A CGeo file. It has its own handle of the file. */
class Proxy {
public:
    /** Fails with MM_ERROR_FORMAT for files of other formats. */
    static Returns<Proxy> of(File file) {
        auto info = detail::sized<mm_cgeo_info>();
        MESHMAP_TRY(mm_cgeo_get_info(file.get(), &info));
        return Proxy(std::move(file), info);
    }
    const File &file() const noexcept { return file_; }
    const mm_cgeo_info &info() const noexcept { return info_; }
    std::size_t size() const noexcept { return info_.snapshot_count; }

    Returns<Counts> counts(std::size_t snapshot, const Scratch &scratch) const {
        return detail::got<Counts>(mm_cgeo_get_counts, file_.get(), snapshot, scratch.get());
    }
    Returns<std::optional<Bounds>> bounds(std::size_t snapshot, const Scratch &scratch) const {
        return detail::maybe<Bounds>(mm_cgeo_bounds, file_.get(), snapshot, scratch.get());
    }
    Returns<Topology> topology(std::size_t snapshot, const Scratch &scratch) const {
        return detail::got<Topology>(mm_cgeo_topology, file_.get(), snapshot, scratch.get());
    }
    std::optional<Timing> timing() const noexcept {
        auto timing = detail::sized<Timing>();
        return mm_cgeo_timing(file_.get(), &timing) == MM_OK ? std::optional<Timing>(timing) : std::nullopt;
    }
    /** The dialect with which the file is read. */
    Returns<Dialect> dialect() const { return detail::got<Dialect>(mm_cgeo_get_dialect, file_.get()); }
    /** A property of the header, or with nullptr the whole header; empty if the header does not have it. */
    Returns<std::optional<std::string>> property(const char *name) const {
        std::size_t length = 0;
        mm_status status = mm_cgeo_property(file_.get(), name, nullptr, 0, &length);
        if (status == MM_ABSENT) {
            return std::optional<std::string>();
        }
        MESHMAP_TRY(status);
        std::string out(length, '\0');
        // The byte 0 goes where the string has its own.
        MESHMAP_TRY(mm_cgeo_property(file_.get(), name, out.data(), length + 1, &length));
        return std::optional<std::string>(std::move(out));
    }
    /** The storage of a snapshot. */
    struct Storage {
        /** `true` if it is stored complete, and not as a difference from the first one. */
        bool is_complete = false;
        std::size_t sample_count = 0;
    };
    Returns<Storage> storage(std::size_t snapshot, const Scratch &scratch) const {
        std::uint32_t is_complete = 0;
        Storage storage;
        MESHMAP_TRY(mm_cgeo_storage(file_.get(), snapshot, scratch.get(), &is_complete, &storage.sample_count));
        storage.is_complete = is_complete != 0;
        return storage;
    }
    /** Any array into the caller's buffer; returns the number of elements. */
    Returns<std::size_t> read(std::size_t snapshot, mm_cgeo_array array, std::uint32_t set, const Scratch &scratch, void *out,
                              std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cgeo_read, file_.get(), snapshot, array, set, scratch.get(), out, stride,
            capacity);
    }
    /** Any array in memory of the scratch or of the file; valid until the scratch is used again. */
    Returns<View> view(std::size_t snapshot, mm_cgeo_array array, std::uint32_t set, const Scratch &scratch) const {
        return detail::got<View>(mm_cgeo_view, file_.get(), snapshot, array, set, scratch.get());
    }
    /** Positions into the caller's buffer; returns the number of vertices. */
    Returns<std::size_t> positions(std::size_t snapshot, const Scratch &scratch, float *out, std::size_t stride,
                                   std::size_t capacity) const {
        return read(snapshot, MM_CGEO_POSITIONS, 0, scratch, out, stride, capacity);
    }
    /** Positions in memory of the scratch or of the file; valid until the scratch is used again. */
    Returns<Span<const Vec3>> positions(std::size_t snapshot, const Scratch &scratch) const {
        auto view = detail::sized<View>();
        MESHMAP_TRY(mm_cgeo_view(file_.get(), snapshot, MM_CGEO_POSITIONS, 0, scratch.get(), &view));
        return Span<const Vec3>(static_cast<const Vec3 *>(view.data), view.count);
    }
    Returns<std::vector<Triangle>> triangles(std::size_t snapshot, const Scratch &scratch,
                                             mm_cgeo_array array = MM_CGEO_POSITION_INDICES, std::uint32_t set = 0) const {
        return detail::grown<Triangle, void>(mm_cgeo_read_new, file_.get(), snapshot, array, set, scratch.get());
    }
    Returns<void> read(std::size_t snapshot, const Scratch &scratch, const Snapshot &out, std::size_t sample = 0,
                       mm_parts parts = MM_PARTS_ALL) const {
        return detail::done(mm_snapshot_read(file_.get(), snapshot, sample, parts, scratch.get(), out.get()));
    }
    /** The time of a snapshot in seconds. `timing` null: the times of the file. */
    Returns<double> time_of(const Timing *timing, std::size_t snapshot) const {
        return detail::got<double>(mm_cgeo_time_of, file_.get(), timing, snapshot);
    }
    /** The snapshots around a time; empty if there are none, or the time is NaN. */
    Returns<std::optional<Key>> key_at(const Timing *timing, double seconds, mm_wrap wrap = MM_WRAP_CLAMP) const {
        return detail::maybe<Key>(mm_cgeo_key_at, file_.get(), timing, seconds, wrap);
    }
    /** The times that a shutter needs. `timing` null: the times of the file. */
    Returns<std::vector<double>> keys(const Timing *timing, double open, double close, mm_wrap wrap = MM_WRAP_CLAMP) const {
        return detail::list<double>(mm_cgeo_keys, file_.get(), timing, open, close, wrap, nullptr);
    }
    /** All positions of the first time, then of the next time. */
    Returns<std::size_t> positions_at(const Timing *timing, Span<const double> seconds, mm_wrap wrap, const Scratch &scratch,
                                      float *out, std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cgeo_positions_at, file_.get(), timing, seconds.data(), seconds.size(), wrap,
            scratch.get(), out, stride, capacity);
    }
    Returns<std::size_t> normals_at(const Timing *timing, Span<const double> seconds, mm_wrap wrap, const Scratch &scratch,
                                    float *out, std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cgeo_normals_at, file_.get(), timing, seconds.data(), seconds.size(), wrap,
            scratch.get(), out, stride, capacity);
    }
    Returns<std::size_t> velocities(const Timing *timing, std::size_t snapshot, const Scratch &scratch, float *out,
                                    std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cgeo_velocities, file_.get(), timing, snapshot, scratch.get(), out, stride,
            capacity);
    }

private:
    Proxy(File file, const mm_cgeo_info &info) : file_(std::move(file)), info_(info) {}

    File file_;
    mm_cgeo_info info_;
};

/** Decodes snapshots straight into vertex buffers: one for each thread and each proxy. */
class VertexWriter : public detail::Handle<mm_vertex_writer, mm_vertex_writer_free> {
public:
    using Handle::Handle;
    static Returns<VertexWriter> make(Span<const mm_layout_attribute> attributes, std::size_t stride = 0) {
        return detail::got<VertexWriter>(mm_vertex_writer_new, attributes.data(), attributes.size(), stride);
    }
    /** The index buffer of a snapshot; `vertex_count` receives the number of vertices. */
    Returns<std::vector<std::uint32_t>> indices(const Proxy &proxy, std::size_t snapshot, std::size_t &vertex_count) const {
        std::vector<std::uint32_t> out;
        MESHMAP_TRY(detail::fetch(out, [&](std::uint32_t *to, std::size_t capacity, std::size_t *count) {
            return mm_vertex_writer_indices(handle_, proxy.file().get(), snapshot, to, 0, capacity, count, &vertex_count);
        }));
        return out;
    }
    /** Writes all vertices; returns the topology that they belong to. */
    Returns<Topology> write(const Proxy &proxy, std::size_t snapshot, void *out, std::size_t capacity) const {
        return detail::got<Topology>(mm_vertex_writer_write, handle_, proxy.file().get(), snapshot, out, capacity,
            nullptr);
    }
    Returns<Topology> write_at(const Proxy &proxy, const Timing *timing, double seconds, mm_wrap wrap, void *out,
                               std::size_t capacity) const {
        return detail::got<Topology>(mm_vertex_writer_write_at, handle_, proxy.file().get(), timing, seconds, wrap, out,
            capacity, nullptr);
    }
};

/** Decoded snapshots, shared by all threads. */
class Cache : public detail::Handle<mm_cache, mm_cache_free> {
public:
    using Handle::Handle;
    static Returns<Cache> make(std::uint64_t capacity_bytes) {
        return detail::got<Cache>(mm_cache_new, capacity_bytes);
    }
    Returns<Cache> share() const { return detail::got<Cache>(mm_cache_ref, handle_); }
    Returns<void> get(const Proxy &proxy, std::size_t snapshot, const Snapshot &out, mm_parts parts = MM_PARTS_ALL) const {
        return detail::done(mm_cache_get(handle_, proxy.file().get(), snapshot, parts, out.get()));
    }
    bool try_get(const Proxy &proxy, std::size_t snapshot, const Snapshot &out,
                 mm_parts parts = MM_PARTS_ALL) const noexcept {
        return mm_cache_try_get(handle_, proxy.file().get(), snapshot, parts, out.get()) == MM_OK;
    }
    Returns<void> prefetch(const Proxy &proxy, Span<const std::size_t> snapshots, mm_parts parts = MM_PARTS_ALL) const {
        return detail::done(mm_cache_prefetch(handle_, proxy.file().get(), snapshots.data(), snapshots.size(), parts));
    }
    Returns<std::size_t> positions_at(const Proxy &proxy, const Timing *timing, Span<const double> seconds, mm_wrap wrap,
                                      const Scratch &scratch, float *out, std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cache_positions_at, handle_, proxy.file().get(), timing, seconds.data(),
            seconds.size(), wrap, scratch.get(), out, stride, capacity);
    }
    Returns<std::size_t> velocities(const Proxy &proxy, const Timing *timing, std::size_t snapshot, const Scratch &scratch,
                                    float *out, std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cache_velocities, handle_, proxy.file().get(), timing, snapshot,
            scratch.get(), out, stride, capacity);
    }
    /** Any array into the caller's buffer; returns the number of elements. */
    Returns<std::size_t> read(const Proxy &proxy, std::size_t snapshot, mm_cgeo_array array, std::uint32_t set,
                              const Scratch &scratch, void *out, std::size_t stride, std::size_t capacity) const {
        return detail::got<std::size_t>(mm_cache_read, handle_, proxy.file().get(), snapshot, array, set, scratch.get(),
            out, stride, capacity);
    }
    Returns<mm_cache_stats> stats() const { return detail::got<mm_cache_stats>(mm_cache_get_stats, handle_); }
    Returns<void> remove(const Proxy &proxy) const {
        return detail::done(mm_cache_remove(handle_, proxy.file().get()));
    }
    void clear() const noexcept { mm_cache_clear(handle_); }
};

/** The skeleton of an IQM file, and animations for it. */
class Rig : public detail::Handle<mm_rig, mm_rig_free> {
public:
    using Handle::Handle;
    static Returns<Rig> of(const File &file, const File *animation = nullptr) {
        return detail::got<Rig>(mm_rig_new, file.get(), animation == nullptr ? nullptr : animation->get());
    }
    Returns<mm_rig_info> info() const { return detail::got<mm_rig_info>(mm_rig_get_info, handle_); }
    Returns<mm_joint> joint(std::size_t index) const { return detail::got<mm_joint>(mm_rig_joint, handle_, index); }
    Returns<mm_anim> anim(std::size_t index) const { return detail::got<mm_anim>(mm_rig_anim, handle_, index); }
    /** The frames around a time of an animation. */
    struct Frames {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        float fraction = 0;
    };
    /** Empty if the animation has no frames or no rate. */
    Returns<std::optional<Frames>> frames_at(std::size_t anim, double seconds, float default_rate) const {
        Frames frames;
        const mm_status status =
            mm_rig_frames_at(handle_, anim, seconds, default_rate, &frames.from, &frames.to, &frames.fraction);
        return detail::unless_absent(status, frames);
    }
    /** One pose for each joint, as stored; returns the number of poses. */
    Returns<std::size_t> pose(std::uint32_t frame, const Scratch &scratch, Span<mm_trs> out) const {
        return detail::got<std::size_t>(mm_rig_pose, handle_, frame, scratch.get(), out.data(), std::size_t{0}, out.size());
    }
    /** One matrix for each joint; returns the number of matrices. */
    Returns<std::size_t> skinning_at(std::size_t anim, double seconds, float default_rate, const Scratch &scratch,
                                     Span<Matrix> out) const {
        std::size_t count = 0;
        float *start = out.empty() ? nullptr : out[0][0].data();
        MESHMAP_TRY(mm_rig_skinning_at(handle_, anim, seconds, default_rate, scratch.get(), start, 0, out.size(), &count));
        return count;
    }
};

} // namespace meshmap

#endif
