/* Draws a file of any format as a PNG, without knowing formats. C99, with the headers of Debian's libstb-dev.
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
static unsigned char picture[SIZE][SIZE][3];
static float depths[SIZE][SIZE];

typedef struct { float place[3], normal[3], uv[2], color[4], weights[4]; uint16_t joints[4]; } Vertex;
typedef struct { unsigned char *pixels; int width, height; } Image;
/* A shape, with vertices in the places in which they are drawn; without vertices if it is not drawn. */
typedef struct { Vertex *vertices; uint32_t (*triangles)[3], *ids; size_t vertex_count, count; } Shape;

static void check(mm_status status) {
    if (status == MM_OK) return;
    mm_error error = MM_INIT(mm_error);
    fprintf(stderr, "%s\n", mm_last_error(&error) == MM_OK ? error.text : mm_status_name(status));
    exit(EXIT_FAILURE);
}

/* A point (w 1) or a direction (w 0), moved by a matrix whose columns lie one after the other. */
static void transform(const float *matrix, const float *from, float w, float *to) {
    for (int row = 0; row < 3; ++row)
        to[row] = matrix[row] * from[0] + matrix[4 + row] * from[1] + matrix[8 + row] * from[2] + matrix[12 + row] * w;
}

/* The vertices of a mesh; what it does not have gets a default. `resting` is the joint that does not move. */
static Vertex *read_vertices(const mm_mesh *mesh, size_t count, size_t resting) {
#define ATTRIBUTE(meaning, type, count, field, ...) \
    {.size = sizeof(mm_layout_attribute), .semantic = MM_SEMANTIC_##meaning, .scalar = MM_SCALAR_##type, \
     .components = count, .has_default = 1, .default_value = {__VA_ARGS__}, .offset = offsetof(Vertex, field)}
    const mm_layout_attribute layout[6] = {
        ATTRIBUTE(POSITION, F32, 3, place, 0), ATTRIBUTE(NORMAL, F32, 3, normal, 0), ATTRIBUTE(TEXCOORD, F32, 2, uv, 0),
        ATTRIBUTE(COLOR, F32, 4, color, 1, 1, 1, 1), ATTRIBUTE(WEIGHTS, F32, 4, weights, 1),
        ATTRIBUTE(JOINTS, U16, 4, joints, (float)resting)};
    Vertex *vertices = calloc(count + 1, sizeof *vertices);
    check(mm_mesh_write_interleaved(mesh, layout, 6, sizeof *vertices, vertices, count * sizeof *vertices, NULL));
    return vertices;
}

static Shape read_shape(const mm_scene *scene, size_t index, double seconds, const float *pose, const mm_scene_info *info) {
    Shape shape = {NULL, NULL, NULL, 0, 0};
    mm_shape stored = MM_INIT(mm_shape);
    check(mm_scene_get_shape(scene, index, &stored));
    if (stored.is_coarser) return shape;
    /* An object through time is drawn at the key before. */
    size_t key = 0;
    mm_mesh *mesh = NULL;
    mm_mesh_info counts = MM_INIT(mm_mesh_info);
    check(mm_scene_key_at(scene, index, seconds, &key, NULL, NULL));
    check(mm_scene_mesh(scene, index, key, &mesh));
    check(mm_mesh_get_info(mesh, &counts));
    shape.vertex_count = counts.vertex_count;
    shape.vertices = read_vertices(mesh, shape.vertex_count, info->joint_count);
    shape.count = counts.index_count / 3;
    shape.triangles = calloc(shape.count + 1, sizeof *shape.triangles);
    check(mm_mesh_triangles(mesh, shape.triangles[0], 0, shape.count, NULL));
    if (counts.has_material_ids) {
        shape.ids = calloc(shape.count + 1, sizeof *shape.ids);
        check(mm_mesh_material_ids(mesh, shape.ids, 0, shape.count, NULL));
    }
    if (info->are_points) shape.count = 0;
    mm_mesh_free(mesh);
    /* Joints move the vertices, and then all is upright, in metres. */
    for (Vertex *vertex = shape.vertices; vertex < shape.vertices + shape.vertex_count; ++vertex) {
        float skin[16] = {0}, place[3], normal[3];
        for (int i = 0; i < 64; ++i) skin[i % 16] += vertex->weights[i / 16] * pose[vertex->joints[i / 16] * 16 + i % 16];
        transform(skin, vertex->place, 1, place);
        transform(skin, vertex->normal, 0, normal);
        transform(info->upright, place, 1, vertex->place);
        transform(info->upright, normal, 0, vertex->normal);
    }
    return shape;
}

/* The image of a material, from the folder of the file. */
static Image load_image(const char *file, const char *name) {
    Image image = {NULL, 0, 0};
    char path[4096], found[2048];
    const char *slash = strrchr(file, '/');
    for (size_t i = 0; *name && !image.pixels && mm_image_path(name, i, found, sizeof found, NULL) == MM_OK; ++i) {
        snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - file) + 1 : 0, file, found);
        image.pixels = stbi_load(path, &image.width, &image.height, NULL, 3);
    }
    return image;
}

static void draw_pixel(float x, float y, float z, float shade, const float *color, const float *uv, const Image *image) {
    if (!(x >= 0 && y >= 0 && x < SIZE && y < SIZE && z > depths[(int)y][(int)x])) return;
    depths[(int)y][(int)x] = z;
    for (int channel = 0; channel < 3; ++channel) {
        float light = color[channel] * shade;
        if (image->pixels && isfinite(uv[0]) && isfinite(uv[1])) {
            /* V begins at the first row, and images repeat. */
            const int column = (int)((uv[0] - floorf(uv[0])) * (float)image->width) % image->width;
            const int row = (int)((uv[1] - floorf(uv[1])) * (float)image->height) % image->height;
            light *= powf((float)image->pixels[(row * image->width + column) * 3 + channel] / 255, 2.2F);
        }
        picture[(int)y][(int)x][channel] = (unsigned char)(255 * powf(fminf(fmaxf(light, 0), 1), 1 / 2.2F) + 0.5F);
    }
}

/* Seen from the front, the right and above, so that `box` fits: x and y in pixels, z towards the eye. */
static void project(const float *place, float box[2][3], float *to) {
    float size = 1e-6F, p[3];
    for (int axis = 0; axis < 3; ++axis) size = fmaxf(size, box[1][axis] - box[0][axis]);
    for (int axis = 0; axis < 3; ++axis) p[axis] = (place[axis] - (box[0][axis] + box[1][axis]) / 2) / size;
    const float right = 0.87F * p[0] - 0.5F * p[2], front = 0.5F * p[0] + 0.87F * p[2];
    to[0] = SIZE * (0.5F + 0.6F * right);
    to[1] = SIZE * (0.5F - 0.6F * (0.94F * p[1] - 0.34F * front));
    to[2] = 0.34F * p[1] + 0.94F * front;
}

static void draw_triangle(const Vertex *corners[3], float box[2][3], const float *color, const Image *image) {
    float at[3][3], low[2] = {SIZE, SIZE}, high[2] = {0, 0};
    for (int i = 0; i < 3; ++i) {
        project(corners[i]->place, box, at[i]);
        for (int k = 0; k < 2; ++k) low[k] = fminf(low[k], at[i][k]), high[k] = fmaxf(high[k], at[i][k]);
    }
    const float area = (at[1][0] - at[0][0]) * (at[2][1] - at[0][1]) - (at[2][0] - at[0][0]) * (at[1][1] - at[0][1]);
    for (float y = floorf(fmaxf(low[1], 0)) + 0.5F; area != 0 && y <= high[1] && y < SIZE; ++y) {
        for (float x = floorf(fmaxf(low[0], 0)) + 0.5F; x <= high[0] && x < SIZE; ++x) {
            float share[3], depth = 0, normal[3] = {0}, uv[2] = {0}, base[3] = {0};
            for (int i = 0; i < 3; ++i) {
                const float *p = at[(i + 1) % 3], *q = at[(i + 2) % 3];
                share[i] = ((q[0] - p[0]) * (y - p[1]) - (x - p[0]) * (q[1] - p[1])) / area;
                depth += share[i] * at[i][2];
                for (int k = 0; k < 3; ++k) normal[k] += share[i] * corners[i]->normal[k];
                for (int k = 0; k < 3; ++k) base[k] += share[i] * corners[i]->color[k] * color[k];
                for (int k = 0; k < 2; ++k) uv[k] += share[i] * corners[i]->uv[k];
            }
            if (!(share[0] >= 0 && share[1] >= 0 && share[2] >= 0)) continue;
            const float length = sqrtf(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]) + 1e-30F;
            const float facing = fabsf(0.47F * normal[0] + 0.34F * normal[1] + 0.81F * normal[2]) / length;
            draw_pixel(x, y, depth, 0.3F + 0.7F * facing, base, uv, image);
        }
    }
}

static void draw_shape(const mm_scene *scene, size_t index, const Shape *shape, const char *file, float box[2][3]) {
    const float white[4] = {1, 1, 1, 1};
    mm_material material = MM_INIT(mm_material);
    check(mm_scene_get_material(scene, index, 0, &material));
    Image image = load_image(file, material.image);
    for (size_t i = 0; i < shape->count; ++i) {
        if (shape->ids) check(mm_scene_get_material(scene, index, shape->ids[i], &material));
        const Vertex *corners[3];
        for (int k = 0; k < 3; ++k) corners[k] = &shape->vertices[shape->triangles[i][k]];
        draw_triangle(corners, box, image.pixels ? white : material.color, &image);
    }
    for (size_t i = 0; i < shape->vertex_count && shape->count == 0; ++i) {
        float at[3];
        project(shape->vertices[i].place, box, at);
        draw_pixel(at[0], at[1], at[2], 1, shape->vertices[i].color, at, &(Image){NULL, 0, 0});
    }
    stbi_image_free(image.pixels);
}

int main(int count, char **arguments) {
    if (count < 3) return fprintf(stderr, "usage: draw FILE PICTURE.png [SECONDS [CLIP]]\n"), EXIT_FAILURE;
    mm_file *file = NULL;
    mm_scene *scene = NULL;
    mm_scene_info info = MM_INIT(mm_scene_info);
    check(mm_open(arguments[1], NULL, &file));
    check(mm_scene_new(file, NULL, &scene));
    check(mm_scene_get_info(scene, &info));
    /* There is one more matrix than joints, the identity, for vertices that follow no joint. */
    const double seconds = count > 3 ? atof(arguments[3]) : 0;
    const size_t clip = count > 4 ? strtoul(arguments[4], NULL, 10) : count > 3 && info.clip_count > 0 ? 0 : SIZE_MAX;
    float *pose = calloc(info.joint_count + 1, 16 * sizeof *pose), box[2][3] = {{1e30F, 1e30F, 1e30F}, {-1e30F, -1e30F, -1e30F}};
    pose[0] = pose[5] = pose[10] = pose[15] = 1;
    if (info.joint_count) check(mm_scene_pose(scene, clip, seconds, MM_MATRICES_SKIN, pose, 0, info.joint_count + 1, 0));
    Shape *shapes = calloc(info.shape_count + 1, sizeof *shapes);
    for (size_t i = 0; i < info.shape_count; ++i) {
        shapes[i] = read_shape(scene, i, seconds, pose, &info);
        for (size_t k = 0; k < shapes[i].vertex_count * 3; ++k) {
            const float number = shapes[i].vertices[k / 3].place[k % 3], *low = box[0], *high = box[1];
            if (isfinite(number)) box[0][k % 3] = fminf(low[k % 3], number), box[1][k % 3] = fmaxf(high[k % 3], number);
        }
    }
    memset(picture, 0x30, sizeof picture);
    for (int i = 0; i < SIZE * SIZE; ++i) depths[i / SIZE][i % SIZE] = -INFINITY;
    for (size_t i = 0; i < info.shape_count; ++i) {
        draw_shape(scene, i, &shapes[i], arguments[1], box);
        free(shapes[i].vertices), free(shapes[i].triangles), free(shapes[i].ids);
    }
    free(shapes), free(pose);
    mm_scene_free(scene);
    mm_close(file);
    return stbi_write_png(arguments[2], SIZE, SIZE, 3, picture, SIZE * 3) ? EXIT_SUCCESS : EXIT_FAILURE;
}
