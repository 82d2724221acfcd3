/* Loads the meshes of a file that a viewer draws by default. C99.
 *
 *     load FILE
 */
#include <meshmap.h>
#include <stdio.h>
#include <stdlib.h>

/* One mesh: three floats per vertex, three indices per triangle. */
static mm_status load(const mm_file *file, const char *address) {
    mm_mesh *mesh = NULL;
    size_t position = 0, vertices = 0, triangles = 0;
    mm_status status = mm_mesh_at(file, address, &mesh);
    if (!status) status = mm_mesh_find_attribute(mesh, MM_SEMANTIC_POSITION, 0, NULL, &position);
    if (!status) status = mm_mesh_read_attribute(mesh, position, MM_SCALAR_F32, 3, 0, NULL, 0, 0, &vertices);
    if (!status) status = mm_mesh_triangles(mesh, NULL, 0, 0, &triangles);
    float *positions = malloc(vertices * 12 + 1);
    uint32_t *indices = malloc(triangles * 12 + 1);
    if (!status) status = mm_mesh_read_attribute(mesh, position, MM_SCALAR_F32, 3, 0, positions, 0, vertices, NULL);
    if (!status) status = mm_mesh_triangles(mesh, indices, 0, triangles, NULL);
    if (!status) printf("%s: %zu vertices, %zu triangles\n", address, vertices, triangles);
    free(positions);
    free(indices);
    mm_mesh_free(mesh);
    return status;
}

int main(int count, char **arguments) {
    mm_file *file = NULL;
    mm_mesh_list *list = NULL;
    size_t meshes = 0;
    mm_status status = mm_open(count == 2 ? arguments[1] : "", NULL, &file);
    if (!status) status = mm_meshes(file, &list);
    if (!status) status = mm_mesh_list_count(list, &meshes);
    for (size_t i = 0; !status && i < meshes; ++i) {
        mm_mesh_entry entry = MM_INIT(mm_mesh_entry);
        status = mm_mesh_list_get(list, i, &entry);
        if (!status && entry.is_drawn_by_default) status = load(file, entry.address);
    }
    if (status) {
        mm_error error = MM_INIT(mm_error);
        fprintf(stderr, "%s\n", mm_last_error(&error) ? mm_status_name(status) : error.text);
    }
    mm_mesh_list_free(list);
    mm_close(file);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
