/* A mistake of a caller is a status, and nothing else happens: run under valgrind and AddressSanitizer. */
#include <meshmap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong = 0;

static void expect(mm_status expected, mm_status found, const char *call, int line)
{
    if (expected != found) {
        fprintf(stderr, "line %d: %s: expected %s, found %s\n", line, call, mm_status_name(expected),
                mm_status_name(found));
        ++wrong;
    }
}

#define EXPECT(status, call) expect(status, call, #call, __LINE__)

/* Reads positions in main. */
#define READ(out, stride, capacity, count) \
    mm_read_into(file, positions, MM_SCALAR_F32, 3, scratch, out, stride, capacity, count)

static int released = 0;

static void release(void *user)
{
    free(user);
    ++released;
}

/* A reader that stores a few bytes at a time. */
typedef struct {
    unsigned char *bytes;
    size_t length;
} short_reads;

static int short_read(void *user, uint64_t offset, void *buffer, size_t length, size_t *stored)
{
    const short_reads *reader = (const short_reads *)user;
    const size_t rest = offset < reader->length ? reader->length - (size_t)offset : 0;
    const size_t most = length < 7 ? length : 7;
    *stored = rest < most ? rest : most;
    memcpy(buffer, reader->bytes + offset, *stored);
    return 0;
}

static void reads(const char *path)
{
    FILE *in = fopen(path, "rb");
    short_reads user = {0};
    mm_reader reader = {0};
    mm_file *file = NULL;
    size_t count = 0;
    user.bytes = (unsigned char *)malloc(1 << 20);
    user.length = in == NULL || user.bytes == NULL ? 0 : fread(user.bytes, 1, 1 << 20, in);
    if (in != NULL) {
        fclose(in);
    }
    reader.size = sizeof reader;
    reader.user = &user;
    reader.read = short_read;
    EXPECT(MM_OK, mm_open_reader(&reader, NULL, &file));
    EXPECT(MM_OK, mm_read_into(file, "snapshots[5].positions", MM_SCALAR_F32, 3, NULL, NULL, 0, 0, &count));
    EXPECT(1, count > 0);
    EXPECT(MM_OK, mm_close(file));
    free(user.bytes);
}

static void lend(const char *path)
{
    FILE *in = fopen(path, "rb");
    unsigned char *bytes = (unsigned char *)malloc(1 << 20);
    size_t length = in == NULL || bytes == NULL ? 0 : fread(bytes, 1, 1 << 20, in);
    mm_file *file = NULL;
    mm_mesh *mesh = NULL;
    mm_array_info view = {0};
    volatile unsigned char sum = 0;
    size_t i;
    if (in != NULL) {
        fclose(in);
    }
    EXPECT(MM_OK, mm_open_memory(bytes, length, release, bytes, NULL, &file));
    EXPECT(MM_OK, mm_mesh_at(file, "snapshots[0]", &mesh));
    EXPECT(MM_OK, mm_close(file));
    view.size = sizeof view;
    EXPECT(MM_OK, mm_mesh_attribute_view(mesh, 0, &view));
    for (i = 0; i < view.byte_length; ++i) {
        sum = (unsigned char)(sum + ((const unsigned char *)view.data)[i]);
    }
    EXPECT(MM_OK, mm_mesh_free(mesh));
    EXPECT(1, released);
}

int main(int count, char **arguments)
{
    mm_file *file = NULL, *again = NULL;
    mm_scratch *scratch = NULL;
    mm_snapshot *place = NULL;
    mm_cache *cache = NULL;
    mm_mesh *mesh = NULL, *none = NULL;
    mm_error error = {0};
    mm_mesh_info info = {0};
    float exact[3 * 4], *all;
    mm_array_info array = {0};
    static const char positions[] = "snapshots[0].positions";
    size_t needed = 0;
    if (count != 2) {
        fprintf(stderr, "usage: misuse FILE.cgeo\n");
        return 2;
    }
    EXPECT(MM_ABSENT, (error.size = sizeof error, mm_last_error(&error)));
    EXPECT(MM_ERROR_ARGUMENT, mm_open(NULL, NULL, &file));
    EXPECT(MM_ERROR_IO, mm_open("/no/such/file", NULL, &file));
    EXPECT(MM_OK, mm_last_error(&error));
    if (strstr(error.text, "/no/such/file") == NULL || error.status != MM_ERROR_IO) {
        fprintf(stderr, "the error is %s\n", error.text);
        ++wrong;
    }
    EXPECT(MM_OK, mm_open(arguments[1], NULL, &file));
    EXPECT(MM_OK, mm_file_ref(file, &again));
    EXPECT(MM_OK, mm_close(file));
    EXPECT(MM_ERROR_HANDLE, mm_close(file));
    EXPECT(MM_ERROR_HANDLE, mm_mesh_at(file, "snapshots[0]", &mesh));
    file = again;

    EXPECT(MM_OK, mm_scratch_new(&scratch));
    EXPECT(MM_OK, mm_snapshot_new(&place));
    EXPECT(MM_OK, mm_cache_new(1 << 20, &cache));
    EXPECT(MM_ERROR_HANDLE, mm_close((mm_file *)(void *)scratch));
    EXPECT(MM_ERROR_HANDLE, mm_cache_get((mm_cache *)(void *)file, file, 0, MM_PARTS_ALL, place));
    EXPECT(MM_ERROR_HANDLE, mm_snapshot_read(file, 0, 0, MM_PARTS_ALL, (mm_scratch *)(void *)place, place));
    EXPECT(MM_ERROR_HANDLE, mm_close((mm_file *)(void *)&error));
    EXPECT(MM_ERROR_OUT_OF_RANGE, mm_cache_get(cache, file, 123456, MM_PARTS_ALL, place));
    EXPECT(MM_ABSENT, mm_snapshot_copy(place, "positions", MM_SCALAR_F32, 3, NULL, exact, 0, 4, &needed));
    array.size = sizeof array;
    EXPECT(MM_ABSENT, mm_snapshot_view(place, "positions", scratch, &array));
    EXPECT(MM_ERROR_HANDLE, mm_array(file, positions, NULL, &array));
    EXPECT(MM_ERROR_OUT_OF_RANGE, mm_array(file, "snapshots[0].nothing", scratch, &array));
    EXPECT(MM_OK, mm_array(file, positions, scratch, &array));

    /* Memory that is too small by one, and just large enough. */
    EXPECT(MM_ERROR_BUFFER, READ(exact, 0, 4, &needed));
    EXPECT(MM_ERROR_BUFFER, READ(exact, 0, needed - 1, NULL));
    all = (float *)malloc((needed - 1) * 16 + 12);
    EXPECT(MM_OK, READ(all, 16, needed, &needed));
    EXPECT(MM_ERROR_ARGUMENT, READ(all, 4, needed, &needed));
    EXPECT(MM_ERROR_ARGUMENT, READ(all, 16, SIZE_MAX, &needed));
    EXPECT(MM_ERROR_MISMATCH, mm_read_into(file, positions, MM_SCALAR_F64, 3, scratch, all, 0, needed, &needed));
    free(all);

    EXPECT(MM_OK, mm_mesh_at(file, "snapshots[0]", &mesh));
    EXPECT(MM_ERROR_ARGUMENT, mm_mesh_get_info(mesh, &info));
    info.size = sizeof info - 1;
    EXPECT(MM_ERROR_ARGUMENT, mm_mesh_get_info(mesh, &info));
    info.size = sizeof info;
    EXPECT(MM_OK, mm_mesh_get_info(mesh, &info));
    EXPECT(MM_ERROR_OUT_OF_RANGE, mm_mesh_at(file, "meshes[\"", &none));
    reads(arguments[1]);
    lend(arguments[1]);
    EXPECT(MM_OK, mm_close(NULL));

    EXPECT(MM_OK, mm_close(file));
    EXPECT(MM_OK, mm_scratch_free(scratch));
    EXPECT(MM_ERROR_HANDLE, mm_scratch_free(scratch));
    EXPECT(MM_OK, mm_snapshot_free(place));
    EXPECT(MM_OK, mm_cache_free(cache));
    EXPECT(MM_OK, mm_mesh_free(mesh));
    EXPECT(0, (mm_status)mm_handle_count());
    if (wrong == 0) {
        puts("misuse: all as expected");
    }
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
