/* The sha256 of every array and every text of a file, as the command `meshmap digest` prints it, through the C interface. */
#include <meshmap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- sha256 ---------------------------------------------------------------------------------------------------------------- */

struct sha256 {
    uint32_t state[8];
    unsigned char block[64];
    uint64_t length;
};

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

static void sha256_block(struct sha256 *hash, const unsigned char *in)
{
    uint32_t w[64], v[8], t1, t2;
    int i;
    for (i = 0; i < 16; ++i) {
        w[i] = (uint32_t)in[4 * i] << 24 | (uint32_t)in[4 * i + 1] << 16 | (uint32_t)in[4 * i + 2] << 8 | in[4 * i + 3];
    }
    for (i = 16; i < 64; ++i) {
        t1 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >> 3);
        t2 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + t1 + w[i - 7] + t2;
    }
    memcpy(v, hash->state, sizeof v);
    for (i = 0; i < 64; ++i) {
        t1 = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + ROUND[i] +
             w[i];
        t2 = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (i = 0; i < 8; ++i) {
        hash->state[i] += v[i];
    }
}

static void sha256_begin(struct sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

static void sha256_add(struct sha256 *hash, const unsigned char *in, size_t length)
{
    while (length > 0) {
        size_t filled = (size_t)(hash->length % 64), part = 64 - filled < length ? 64 - filled : length;
        if (part == 64) {
            sha256_block(hash, in);
        } else {
            memcpy(hash->block + filled, in, part);
            if (filled + part == 64) {
                sha256_block(hash, hash->block);
            }
        }
        hash->length += part;
        in += part;
        length -= part;
    }
}

static void sha256_print(struct sha256 *hash, FILE *out)
{
    uint64_t bits = hash->length * 8;
    unsigned char end[72] = {0x80};
    size_t fill = (size_t)((hash->length % 64 < 56 ? 56 : 120) - hash->length % 64);
    int i;
    for (i = 0; i < 8; ++i) {
        end[fill + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    }
    sha256_add(hash, end, fill + 8);
    for (i = 0; i < 8; ++i) {
        fprintf(out, "%08x", hash->state[i]);
    }
}

/* -- JSON ------------------------------------------------------------------------------------------------------------------ */

static void print_text(FILE *out, const char *text, size_t length)
{
    size_t i;
    fputc('"', out);
    for (i = 0; i < length; ++i) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

/* The output, and its length so far: in memory, because nothing is printed for a file that is refused. */
struct writer {
    FILE *out;
    /* 1 if only the first body of an OpenCTM file is listed. */
    int is_first_body;
    int count;
};

/* The name of an address in the digest: without the body if only the first one is listed; NULL for other bodies. */
static const char *named(const struct writer *writer, const char *address)
{
    static const char first[] = "bodies[0].";
    if (!writer->is_first_body) {
        return address;
    }
    return strncmp(address, first, sizeof first - 1) == 0 ? address + sizeof first - 1 : NULL;
}

static int print_array(void *user, const mm_array_info *array)
{
    static const char *const scalars[] = {"?", "u8", "i8", "u16", "i16", "u32", "i32", "f16", "f32", "f64"};
    struct writer *writer = (struct writer *)user;
    const char *name = named(writer, array->address), *scalar = scalars[array->scalar];
    struct sha256 hash;
    uint32_t i;
    if (name == NULL) {
        return 0;
    }
    sha256_begin(&hash);
    sha256_add(&hash, (const unsigned char *)array->data, array->byte_length);
    if (writer->count++ > 0) {
        fputs(", ", writer->out);
    }
    print_text(writer->out, name, strlen(name));
    fprintf(writer->out, ": {\"type\": \"%s\", \"shape\": [", scalar);
    for (i = 0; i < array->rank; ++i) {
        fprintf(writer->out, "%s%llu", i > 0 ? ", " : "", (unsigned long long)array->shape[i]);
    }
    fputs("], \"sha256\": \"", writer->out);
    sha256_print(&hash, writer->out);
    fputs("\"}", writer->out);
    return 0;
}

static int print_string(void *user, const char *address, const char *text, size_t length)
{
    struct writer *writer = (struct writer *)user;
    const char *name = named(writer, address);
    if (name != NULL) {
        if (writer->count++ > 0) {
            fputs(", ", writer->out);
        }
        print_text(writer->out, name, strlen(name));
        fputs(": ", writer->out);
        print_text(writer->out, text, length);
    }
    return 0;
}

/* For OpenCTM, the digest refuses values that cannot be used. */
static mm_status refuse_unusable(const mm_file *file)
{
    mm_finding_list *list = NULL;
    size_t count = 0, i;
    mm_status status = mm_validate(file, &list);
    if (status == MM_OK) {
        status = mm_finding_list_count(list, &count);
    }
    for (i = 0; status == MM_OK && i < count; ++i) {
        mm_finding finding = MM_INIT(mm_finding);
        int is_other;
        status = mm_finding_list_get(list, i, &finding);
        if (status != MM_OK) {
            break;
        }
        /* Further bodies are not in the digest. */
        is_other = strncmp(finding.address, "bodies[", 7) == 0 && strncmp(finding.address, "bodies[0]", 9) != 0;
        if (finding.severity == MM_SEVERITY_UNUSABLE && !is_other) {
            fprintf(stderr, "%s\n", finding.text);
            mm_finding_list_free(list);
            exit(1);
        }
    }
    mm_finding_list_free(list);
    return status;
}

static mm_status digest(const mm_file *file, FILE *out, int is_all)
{
    struct writer writer;
    mm_format format = MM_FORMAT_UNKNOWN;
    mm_status status = mm_file_format(file, &format);
    writer.out = out;
    writer.count = 0;
    writer.is_first_body = format == MM_FORMAT_OPENCTM && !is_all;
    if (status == MM_OK && format == MM_FORMAT_OPENCTM) {
        status = refuse_unusable(file);
    }
    if (status == MM_OK) {
        fprintf(out, "{\"format\": \"%s\", \"arrays\": {", mm_format_name(format));
        status = mm_arrays(file, print_array, &writer);
    }
    if (status == MM_OK) {
        fputs("}, \"strings\": {", out);
        writer.count = 0;
        status = mm_texts(file, print_string, &writer);
    }
    fputs("}}\n", out);
    return status;
}

int main(int count, char **arguments)
{
    mm_file *file = NULL;
    mm_status status;
    FILE *out = tmpfile();
    int c, is_map = 0, is_all = 0, i;
    if (count < 2 || out == NULL) {
        fprintf(stderr, "usage: digest [--map] [--all] FILE\n");
        return 2;
    }
    for (i = 1; i < count - 1; ++i) {
        is_map |= strcmp(arguments[i], "--map") == 0;
        is_all |= strcmp(arguments[i], "--all") == 0;
    }
    status = (is_map ? mm_open_map : mm_open)(arguments[count - 1], NULL, &file);
    if (status == MM_OK) {
        status = digest(file, out, is_all);
    }
    mm_close(file);
    if (status != MM_OK) {
        mm_error error = MM_INIT(mm_error);
        fprintf(stderr, "%s\n", mm_last_error(&error) == MM_OK ? error.text : mm_status_name(status));
        fclose(out);
        return 1;
    }
    rewind(out);
    while ((c = getc(out)) != EOF) {
        putchar(c);
    }
    fclose(out);
    return 0;
}
