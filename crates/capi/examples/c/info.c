/* Prints the contents of a file: format, meshes, attributes, findings. C99.
 *
 *     info FILE
 */
#include <meshmap.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints the last failure; returns 1 if there was one. */
static int failed(mm_status status)
{
    mm_error error = MM_INIT(mm_error);
    if (status == MM_OK) {
        return 0;
    }
    if (mm_last_error(&error) == MM_OK) {
        fprintf(stderr, "%s\n", error.text);
    } else {
        fprintf(stderr, "%s\n", mm_status_name(status));
    }
    return 1;
}

static void print_attributes(const mm_mesh *mesh, size_t count)
{
    static const char *const scalars[] = {"?",   "u8",  "i8",  "u16", "i16",
                                          "u32", "i32", "f16", "f32", "f64"};
    size_t i;
    for (i = 0; i < count; ++i) {
        mm_attribute_info info = MM_INIT(mm_attribute_info);
        if (!failed(mm_mesh_attribute(mesh, i, &info))) {
            const char *scalar = info.scalar <= MM_SCALAR_F64 ? scalars[info.scalar] : "?";
            printf("    %s %sx%u%s\n", info.name, scalar, (unsigned)info.components,
                   info.normalized ? " normalized" : "");
        }
    }
}

static int print_mesh(const mm_file *file, const mm_mesh_entry *entry)
{
    mm_mesh *mesh = NULL;
    mm_mesh_info info = MM_INIT(mm_mesh_info);
    mm_bounds box;
    int bad = failed(mm_mesh_at(file, entry->address, &mesh)) || failed(mm_mesh_get_info(mesh, &info));
    if (!bad) {
        printf("  %s%s%s: %lu vertices, %lu triangles\n", entry->address, *entry->name ? " " : "", entry->name,
               (unsigned long)info.vertex_count, (unsigned long)(info.index_count / 3));
        print_attributes(mesh, info.attribute_count);
        switch (mm_mesh_bounds(mesh, &box)) {
        case MM_OK:
            printf("    box %g %g %g .. %g %g %g\n", box.min[0], box.min[1], box.min[2], box.max[0], box.max[1],
                   box.max[2]);
            break;
        case MM_ABSENT:
            break;
        default:
            bad = 1;
        }
    }
    mm_mesh_free(mesh);
    return bad;
}

static int print_meshes(const mm_file *file)
{
    mm_mesh_list *list = NULL;
    size_t count = 0, i;
    int bad = failed(mm_meshes(file, &list)) || failed(mm_mesh_list_count(list, &count));
    for (i = 0; !bad && i < count; ++i) {
        mm_mesh_entry entry = MM_INIT(mm_mesh_entry);
        bad = failed(mm_mesh_list_get(list, i, &entry));
        if (!bad && entry.is_drawn_by_default) {
            bad = print_mesh(file, &entry);
        }
    }
    if (!bad) {
        printf("  %lu meshes in all\n", (unsigned long)count);
    }
    mm_mesh_list_free(list);
    return bad;
}

static int print_findings(const mm_file *file)
{
    mm_finding_list *list = NULL;
    size_t count = 0, i;
    int bad = failed(mm_findings(file, &list)) || failed(mm_finding_list_count(list, &count));
    for (i = 0; !bad && i < count; ++i) {
        mm_finding finding = MM_INIT(mm_finding);
        bad = failed(mm_finding_list_get(list, i, &finding));
        if (!bad) {
            printf("  finding: %s\n", finding.text);
        }
    }
    mm_finding_list_free(list);
    return bad;
}

int main(int count, char **arguments)
{
    mm_file *file = NULL;
    mm_options options;
    mm_format format = MM_FORMAT_UNKNOWN;
    int bad;
    if (count != 2) {
        fprintf(stderr, "usage: %s FILE\n", arguments[0]);
        return 2;
    }
    mm_options_init(&options, sizeof options);
    options.parallelism = MM_PARALLELISM_OFF; /* One small file needs no threads. */
    bad = failed(mm_open(arguments[1], &options, &file)) || failed(mm_file_format(file, &format));
    if (!bad) {
        printf("%s: %s\n", arguments[1], mm_format_name(format));
        bad = print_meshes(file) || print_findings(file);
    }
    mm_close(file);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
