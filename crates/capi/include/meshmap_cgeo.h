/* meshmap: the dialects of CGeo files, which differ in details that the published text leaves open. The rules at the
 * top of meshmap.h hold. Made from crates/capi/src by the test `header`; do not edit.
 */

#ifndef MESHMAP_CGEO_H
#define MESHMAP_CGEO_H

#include "meshmap.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The compression of the sections of a CGeo file. */
enum mm_codec MM_ENUM(uint32_t) {
    MM_CODEC_STORED = 0, /**< Sections are not compressed. */
    MM_CODEC_ZLIB = 1, /**< Sections are zlib streams. */
    MM_CODEC_GZIP = 2, /**< Sections are gzip streams. */
    MM_CODEC_DEFLATE = 3, /**< Sections are raw deflate streams. */
};
MM_ENUM_TYPE(mm_codec, uint32_t)

/** The bytes before a compressed section of a CGeo file. */
enum mm_prefix MM_ENUM(uint32_t) {
    MM_PREFIX_NONE = 0, /**< Nothing. */
    MM_PREFIX_U32_LE = 1, /**< The inflated length, in 4 bytes, little-endian. */
    MM_PREFIX_U32_BE = 2, /**< The inflated length, in 4 bytes, big-endian. */
    MM_PREFIX_U64_LE = 3, /**< The inflated length, in 8 bytes, little-endian. */
};
MM_ENUM_TYPE(mm_prefix, uint32_t)

/** The meaning of the size of a section of a CGeo file. */
enum mm_section_size MM_ENUM(uint32_t) {
    MM_SECTION_SIZE_STORED = 0, /**< Stored bytes. */
    MM_SECTION_SIZE_STORED_WITH_HEADER = 1, /**< Stored bytes and the 12 bytes of the section's header. */
    MM_SECTION_SIZE_INFLATED = 2, /**< Inflated bytes. */
};
MM_ENUM_TYPE(mm_section_size, uint32_t)

/** The target of the offsets of a CGeo file. */
enum mm_offset MM_ENUM(uint32_t) {
    MM_OFFSET_FIRST_SECTION = 0, /**< The first section of a snapshot. */
    MM_OFFSET_START_TAG = 1, /**< The tag before the first section. */
};
MM_ENUM_TYPE(mm_offset, uint32_t)

/** The choices for reading a CGeo file that the published text leaves open. */
struct mm_cgeo_dialect {
    size_t size; /**< sizeof(mm_cgeo_dialect), set by the caller. */
    mm_codec codec; /**< The compression of sections. */
    mm_prefix prefix; /**< The bytes before a compressed section. */
    mm_section_size section_size; /**< The meaning of the size of a section. */
    mm_offset offset; /**< The target of offsets. */
};

/** The dialect with which a file is read: the one that was found in it, or given in mm_options. */
MM_API mm_status mm_cgeo_get_dialect(const mm_file *file, mm_cgeo_dialect *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MESHMAP_CGEO_H */
