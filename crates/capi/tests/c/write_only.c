/* Writes vertices of all snapshots of a file into memory at a known address, for a tool that records each access to memory: they are only
 * written. With a second argument, one byte is read afterwards, which the tool has to notice. */
#define _DEFAULT_SOURCE
#include <meshmap.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* As in .ci/capi. */
#define ADDRESS ((void *)(uintptr_t)0xa5a00000000)
#define CAPACITY ((size_t)1 << 24)

static mm_layout_attribute attribute(mm_semantic semantic, mm_scalar scalar, uint32_t components, const char *name)
{
    mm_layout_attribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.size = sizeof attribute;
    attribute.semantic = semantic;
    attribute.scalar = scalar;
    attribute.components = components;
    attribute.normalized = scalar == MM_SCALAR_I8;
    attribute.has_default = 1;
    attribute.offset = SIZE_MAX;
    attribute.name = name;
    return attribute;
}

/* All kinds of places: copied, converted, defaults and gaps. */
static int write_all(const mm_file *file, size_t stride, void *out)
{
    mm_layout_attribute attributes[4];
    mm_vertex_writer *writer;
    size_t bytes, snapshot = 0;
    mm_status status;
    attributes[0] = attribute(MM_SEMANTIC_POSITION, MM_SCALAR_F32, 3, NULL);
    attributes[1] = attribute(MM_SEMANTIC_NORMAL, MM_SCALAR_I8, 4, NULL);
    attributes[2] = attribute(MM_SEMANTIC_TEXCOORD, MM_SCALAR_F16, 2, NULL);
    attributes[3] = attribute(MM_SEMANTIC_CUSTOM, MM_SCALAR_F32, 3, "velocity");
    if (mm_vertex_writer_new(attributes, 4, stride, &writer) != MM_OK) return 0;
    while ((status = mm_vertex_writer_write(writer, file, snapshot, out, CAPACITY, &bytes, NULL)) == MM_OK) ++snapshot;
    if (status != MM_ERROR_OUT_OF_RANGE || snapshot == 0) return 0;
    if (mm_vertex_writer_write_at(writer, file, NULL, 0.07, MM_WRAP_LOOP, out, CAPACITY, &bytes, NULL) != MM_OK) return 0;
    printf("%lu snapshots, %lu bytes\n", (unsigned long)snapshot, (unsigned long)bytes);
    return mm_vertex_writer_free(writer) == MM_OK;
}

int main(int argc, char **argv)
{
    mm_file *file;
    volatile unsigned char *out = mmap(ADDRESS, CAPACITY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (argc < 2 || (void *)out != ADDRESS || mm_open(argv[1], NULL, &file) != MM_OK) return 1;
    if (!write_all(file, 0, (void *)out) || !write_all(file, 52, (void *)out)) return 1;
    if (argc > 2) printf("%d\n", out[0]);
    return mm_close(file) == MM_OK ? 0 : 1;
}
