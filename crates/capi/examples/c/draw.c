/* Draws a file of any format as a PNG: shapes with materials and images, in a pose. C99, with the headers of Debian's libstb-dev.
 *
 *     draw FILE PICTURE.png [SECONDS [CLIP]]
 */
#include <math.h>
#include <meshmap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

enum { SIZE = 512 };

typedef struct { float place[3], normal[3], uv[2], color[4], weights[4]; uint16_t joints[4]; } Vertex;
typedef struct { unsigned char *pixels; int width, height; } Image;

static unsigned char picture[SIZE][SIZE][3];
static float depths[SIZE][SIZE];

static void check(mm_status status) {
    if (status == MM_OK) return;
    mm_error error = MM_INIT(mm_error);
    const int is_known = mm_last_error(&error) == MM_OK && error.status == status;
    fprintf(stderr, "%s\n", is_known ? error.text : mm_status_name(status));
    exit(EXIT_FAILURE);
}

/* A point (w 1) or a direction (w 0), moved by a matrix whose columns lie one after the other. */
static void transform(const float *matrix, const float *from, float w, float *to) {
    for (int row = 0; row < 3; ++row)
        to[row] = matrix[row] * from[0] + matrix[4 + row] * from[1] + matrix[8 + row] * from[2] + matrix[12 + row] * w;
}

static void normalize(float *v) {
    const float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int axis = 0; axis < 3; ++axis) v[axis] = length > 0 ? v[axis] / length : 0;
}

/* The vertices of a mesh: what it lacks has a default. */
static Vertex *read_vertices(const mm_mesh *mesh, size_t count, uint16_t resting_joint) {
    const struct { mm_semantic semantic; mm_scalar scalar; uint32_t components; float normal[4]; size_t offset; } parts[] = {
        {MM_SEMANTIC_POSITION, MM_SCALAR_F32, 3, {0}, offsetof(Vertex, place)},
        {MM_SEMANTIC_NORMAL, MM_SCALAR_F32, 3, {0}, offsetof(Vertex, normal)},
        {MM_SEMANTIC_TEXCOORD, MM_SCALAR_F32, 2, {0}, offsetof(Vertex, uv)},
        {MM_SEMANTIC_COLOR, MM_SCALAR_F32, 4, {1, 1, 1, 1}, offsetof(Vertex, color)},
        {MM_SEMANTIC_WEIGHTS, MM_SCALAR_F32, 4, {1, 0, 0, 0}, offsetof(Vertex, weights)},
        {MM_SEMANTIC_JOINTS, MM_SCALAR_U16, 4, {resting_joint, 0, 0, 0}, offsetof(Vertex, joints)},
    };
    mm_layout_attribute layout[6];
    for (int i = 0; i < 6; ++i) {
        layout[i] = (mm_layout_attribute)MM_INIT(mm_layout_attribute);
        layout[i].semantic = parts[i].semantic;
        layout[i].scalar = parts[i].scalar;
        layout[i].components = parts[i].components;
        layout[i].has_default = 1;
        memcpy(layout[i].default_value, parts[i].normal, sizeof layout[i].default_value);
        layout[i].offset = parts[i].offset;
    }
    Vertex *vertices = calloc(count + 1, sizeof *vertices);
    check(mm_mesh_write_interleaved(mesh, layout, 6, sizeof *vertices, vertices, count * sizeof *vertices, NULL));
    return vertices;
}

/* Moves vertices by the joints of a pose, and makes them upright, in metres. */
static void place_vertices(Vertex *vertices, size_t count, const float *pose, const float *upright) {
    for (Vertex *vertex = vertices; vertex < vertices + count; ++vertex) {
        float skin[16] = {0}, place[3], normal[3];
        for (int i = 0; i < 4; ++i)
            for (int k = 0; k < 16; ++k) skin[k] += vertex->weights[i] * pose[vertex->joints[i] * 16 + k];
        transform(skin, vertex->place, 1, place);
        transform(skin, vertex->normal, 0, normal);
        transform(upright, place, 1, vertex->place);
        transform(upright, normal, 0, vertex->normal);
        normalize(vertex->normal);
    }
}

/* The image of a material, which lies near the file. */
static Image load_image(const char *file, const char *name) {
    Image image = {NULL, 0, 0};
    char path[4096], found[2048];
    const char *slash = strrchr(file, '/');
    const int folder = slash ? (int)(slash - file) + 1 : 0;
    for (size_t i = 0; *name && !image.pixels && mm_image_path(name, i, found, sizeof found, NULL) == MM_OK; ++i) {
        snprintf(path, sizeof path, "%.*s%s", folder, file, found);
        image.pixels = stbi_load(path, &image.width, &image.height, NULL, 3);
    }
    return image;
}

static unsigned char to_srgb(float light) {
    light = light < 0 ? 0 : light > 1 ? 1 : light;
    return (unsigned char)(255 * (light <= 0.0031308F ? light * 12.92F : 1.055F * powf(light, 1 / 2.4F) - 0.055F) + 0.5F);
}

static void draw_pixel(int x, int y, float depth, float shade, const float *color, const float *uv, const Image *image) {
    if (x < 0 || y < 0 || x >= SIZE || y >= SIZE || !(depth > depths[y][x])) return;
    depths[y][x] = depth;
    for (int channel = 0; channel < 3; ++channel) {
        float light = color[channel] * shade;
        if (image->pixels && isfinite(uv[0]) && isfinite(uv[1])) {
            /* V begins at the first row, and images repeat. */
            const int column = (int)((uv[0] - floorf(uv[0])) * (float)image->width) % image->width;
            const int row = (int)((uv[1] - floorf(uv[1])) * (float)image->height) % image->height;
            light *= powf((float)image->pixels[(row * image->width + column) * 3 + channel] / 255, 2.2F);
        }
        picture[y][x][channel] = to_srgb(light);
    }
}

/* A view from the front, right and above, for which `box` fits into the picture: x and y in pixels, z towards the eye. */
static void project(const float *place, float box[2][3], float *to) {
    const float size = fmaxf(fmaxf(box[1][0] - box[0][0], box[1][1] - box[0][1]), fmaxf(box[1][2] - box[0][2], 1e-6F));
    float p[3];
    for (int axis = 0; axis < 3; ++axis) p[axis] = (place[axis] - (box[0][axis] + box[1][axis]) / 2) / size;
    const float x = 0.87F * p[0] - 0.5F * p[2], z = 0.5F * p[0] + 0.87F * p[2];
    to[0] = SIZE * (0.5F + 0.6F * x);
    to[1] = SIZE * (0.5F - 0.6F * (0.94F * p[1] - 0.34F * z));
    to[2] = 0.34F * p[1] + 0.94F * z;
}

static void draw_triangle(const Vertex *corners[3], float box[2][3], const mm_material *material, const Image *image) {
    float at[3][3], low[2] = {SIZE, SIZE}, high[2] = {0, 0};
    for (int i = 0; i < 3; ++i) {
        project(corners[i]->place, box, at[i]);
        for (int axis = 0; axis < 2; ++axis) low[axis] = fminf(low[axis], at[i][axis]), high[axis] = fmaxf(high[axis], at[i][axis]);
    }
    const float *a = corners[0]->place, *b = corners[1]->place, *c = corners[2]->place;
    const float ab[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, ac[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    /* For meshes without normals. */
    const float face[3] = {ab[1] * ac[2] - ab[2] * ac[1], ab[2] * ac[0] - ab[0] * ac[2], ab[0] * ac[1] - ab[1] * ac[0]};
    const float area = (at[1][0] - at[0][0]) * (at[2][1] - at[0][1]) - (at[2][0] - at[0][0]) * (at[1][1] - at[0][1]);
    for (int y = (int)fmaxf(low[1], 0); area != 0 && y <= high[1] && y < SIZE; ++y) {
        for (int x = (int)fmaxf(low[0], 0); x <= high[0] && x < SIZE; ++x) {
            float share[3], depth = 0, normal[3] = {0}, uv[2] = {0}, color[3] = {0};
            for (int i = 0; i < 3; ++i) {
                const float *p = at[(i + 1) % 3], *q = at[(i + 2) % 3], px = (float)x + 0.5F, py = (float)y + 0.5F;
                share[i] = ((q[0] - p[0]) * (py - p[1]) - (px - p[0]) * (q[1] - p[1])) / area;
            }
            if (!(share[0] >= 0 && share[1] >= 0 && share[2] >= 0)) continue;
            for (int i = 0; i < 3; ++i) {
                depth += share[i] * at[i][2];
                for (int k = 0; k < 3; ++k) normal[k] += share[i] * corners[i]->normal[k];
                for (int k = 0; k < 2; ++k) uv[k] += share[i] * corners[i]->uv[k];
                for (int k = 0; k < 3; ++k) color[k] += share[i] * corners[i]->color[k] * (image->pixels ? 1 : material->color[k]);
            }
            if (!normal[0] && !normal[1] && !normal[2]) memcpy(normal, face, sizeof normal);
            normalize(normal);
            const float facing = fabsf(0.47F * normal[0] + 0.34F * normal[1] + 0.81F * normal[2]);
            draw_pixel(x, y, depth, 0.25F + 0.75F * facing, color, uv, image);
        }
    }
}

/* A shape whose vertices are where they are drawn. */
typedef struct { mm_mesh *mesh; mm_mesh_info info; Vertex *vertices; } Drawn;

static Drawn load_shape(const mm_scene *scene, size_t index, double seconds, const float *pose, const mm_scene_info *about) {
    Drawn drawn = {NULL, MM_INIT(mm_mesh_info), NULL};
    mm_shape shape = MM_INIT(mm_shape);
    check(mm_scene_get_shape(scene, index, &shape));
    /* A level of detail in place of a finer one is not drawn with it. */
    if (shape.is_coarser) return drawn;
    const double last = (double)shape.key_count - 1;
    const double key = shape.seconds_per_key > 0 ? fmin(fmax(seconds / shape.seconds_per_key, 0), last) : 0;
    mm_mesh *mesh = NULL;
    check(mm_scene_mesh(scene, index, (size_t)key, &mesh));
    /* One group of triangles for each material. */
    check(mm_mesh_by_material(mesh, &drawn.mesh));
    mm_mesh_free(mesh);
    check(mm_mesh_get_info(drawn.mesh, &drawn.info));
    drawn.vertices = read_vertices(drawn.mesh, drawn.info.vertex_count, (uint16_t)about->joint_count);
    place_vertices(drawn.vertices, drawn.info.vertex_count, pose, about->upright);
    return drawn;
}

static void draw_shape(const mm_scene *scene, size_t index, const Drawn *drawn, const char *file, float box[2][3], bool are_points) {
    size_t group_count = 0, triangle_count = 0;
    check(mm_mesh_groups(drawn->mesh, NULL, 0, 0, &group_count));
    check(mm_mesh_triangles(drawn->mesh, NULL, 0, 0, &triangle_count));
    mm_group *groups = calloc(group_count + 1, sizeof *groups);
    uint32_t(*triangles)[3] = calloc(triangle_count + 1, sizeof *triangles);
    check(mm_mesh_groups(drawn->mesh, groups, 0, group_count, NULL));
    check(mm_mesh_triangles(drawn->mesh, &triangles[0][0], 0, triangle_count, NULL));
    mm_material material = MM_INIT(mm_material);
    check(mm_scene_get_material(scene, index, -1, &material));
    Image image = load_image(file, material.image);
    for (const mm_group *group = groups; group < groups + group_count && !are_points; ++group) {
        if (drawn->info.has_material_ids) check(mm_scene_get_material(scene, index, group->material, &material));
        for (uint64_t i = group->first_triangle; i < group->first_triangle + group->triangle_count; ++i) {
            const Vertex *v = drawn->vertices, *corners[3] = {v + triangles[i][0], v + triangles[i][1], v + triangles[i][2]};
            draw_triangle(corners, box, &material, &image);
        }
    }
    for (size_t i = 0; i < drawn->info.vertex_count && are_points; ++i) {
        float at[3], color[3];
        for (int k = 0; k < 3; ++k) color[k] = drawn->vertices[i].color[k] * material.color[k];
        project(drawn->vertices[i].place, box, at);
        for (int k = 0; k < 4 && fabsf(at[0]) < SIZE * 2 && fabsf(at[1]) < SIZE * 2; ++k)
            draw_pixel((int)at[0] + k % 2, (int)at[1] + k / 2, at[2], 1, color, drawn->vertices[i].uv, &(Image){NULL, 0, 0});
    }
    stbi_image_free(image.pixels);
    free(triangles);
    free(groups);
}

int main(int count, char **arguments) {
    if (count < 3) return fprintf(stderr, "usage: draw FILE PICTURE.png [SECONDS [CLIP]]\n"), EXIT_FAILURE;
    const double seconds = count > 3 ? atof(arguments[3]) : 0;
    mm_file *file = NULL;
    mm_scene *scene = NULL;
    check(mm_open(arguments[1], NULL, &file));
    check(mm_scene_new(file, NULL, &scene));
    mm_scene_info about = MM_INIT(mm_scene_info);
    check(mm_scene_get_info(scene, &about));
    /* Without joints, the pose is the matrix of the vertices that no joint moves, the identity. */
    float *pose = calloc((about.joint_count + 1) * 16, sizeof *pose);
    for (int i = 0; i < 16; i += 5) pose[i] = 1;
    const size_t clip = count > 4 ? strtoul(arguments[4], NULL, 10) : count > 3 && about.clip_count > 0 ? 0 : SIZE_MAX;
    if (about.joint_count > 0) check(mm_scene_pose(scene, clip, seconds, MM_MATRICES_SKIN, pose, 0, about.joint_count + 1, NULL));
    Drawn *drawn = calloc(about.shape_count + 1, sizeof *drawn);
    float box[2][3] = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (size_t i = 0; i < about.shape_count; ++i) {
        drawn[i] = load_shape(scene, i, seconds, pose, &about);
        for (size_t k = 0; drawn[i].mesh && k < drawn[i].info.vertex_count; ++k)
            for (int axis = 0; axis < 3; ++axis) {
                const float place = drawn[i].vertices[k].place[axis];
                if (!isfinite(place)) continue;
                box[0][axis] = fminf(box[0][axis], place), box[1][axis] = fmaxf(box[1][axis], place);
            }
    }
    memset(picture, 0x30, sizeof picture);
    for (int i = 0; i < SIZE * SIZE; ++i) depths[i / SIZE][i % SIZE] = -INFINITY;
    for (size_t i = 0; i < about.shape_count; ++i) {
        if (drawn[i].mesh) draw_shape(scene, i, &drawn[i], arguments[1], box, about.are_points);
        free(drawn[i].vertices);
        mm_mesh_free(drawn[i].mesh);
    }
    const int is_written = stbi_write_png(arguments[2], SIZE, SIZE, 3, picture, SIZE * 3);
    free(drawn);
    free(pose);
    mm_scene_free(scene);
    mm_close(file);
    return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
