// The C++ header without exceptions: results, which have a value or a failure. Built with -fno-exceptions.
#define MESHMAP_NO_EXCEPTIONS
#include <meshmap.hpp>

#include <cstdio>

int main(int count, char **arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: results FILE.iqm\n");
        return 2;
    }
    const auto absent = meshmap::File::open("/no/such/file");
    if (absent || absent.error().status != MM_ERROR_IO || absent.error().path != "/no/such/file") {
        std::fprintf(stderr, "results: a file that is not there\n");
        return 1;
    }
    auto file = meshmap::File::open(arguments[1]);
    if (!file) {
        std::fprintf(stderr, "results: %s\n", file.error().text.c_str());
        return 1;
    }
    auto rig = meshmap::Rig::of(*file);
    auto scratch = meshmap::Scratch::make();
    if (!rig || !scratch || meshmap::call<mm_rig_info>(mm_rig_get_info, *rig)->joint_count == 0) {
        std::fprintf(stderr, "results: no skeleton\n");
        return 1;
    }
    auto matrices = meshmap::list<meshmap::Matrix>(mm_rig_skinning_at, *rig, 0, 0.1, 24.0f, *scratch);
    if (!matrices || matrices->empty()) {
        std::fprintf(stderr, "results: no matrices\n");
        return 1;
    }
    if (meshmap::call<mm_anim>(mm_rig_anim, *rig, 1000).error().status != MM_ERROR_OUT_OF_RANGE) {
        std::fprintf(stderr, "results: no such animation\n");
        return 1;
    }
    std::puts("results: all as expected");
    return 0;
}
