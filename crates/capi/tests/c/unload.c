/* A DLL that was used stays loaded after FreeLibrary, because threads of its pool need its code. Windows only.
 *
 *     unload DLL FILE
 */
#include <meshmap.h>
#include <stdio.h>
#include <windows.h>

typedef mm_status (*open_fn)(const char *, const mm_options *, mm_file **);
typedef mm_status (*close_fn)(mm_file *);
typedef mm_status (*validate_fn)(const mm_file *, mm_finding_list **);

int main(int count, char **arguments)
{
    mm_file *file = NULL;
    mm_finding_list *list = NULL;
    HMODULE module;
    if (count != 3) {
        return 2;
    }
    /* A DLL that has opened nothing may go. */
    module = LoadLibraryA(arguments[1]);
    if (module) {
        FreeLibrary(module);
        if (GetModuleHandleA(arguments[1])) {
            fprintf(stderr, "the DLL stays without a reason\n");
            return 1;
        }
    }
    module = LoadLibraryA(arguments[1]);
    if (!module) {
        fprintf(stderr, "%s: error %lu\n", arguments[1], GetLastError());
        return 1;
    }
    open_fn open = (open_fn)(void *)GetProcAddress(module, "mm_open");
    close_fn close = (close_fn)(void *)GetProcAddress(module, "mm_close");
    validate_fn validate = (validate_fn)(void *)GetProcAddress(module, "mm_validate");
    if (!open || !close || !validate || open(arguments[2], NULL, &file) || validate(file, &list) || close(file)) {
        fprintf(stderr, "the DLL cannot be used\n");
        return 1;
    }
    FreeLibrary(module);
    Sleep(100);
    if (GetModuleHandleA(arguments[1]) != module) {
        fprintf(stderr, "the DLL is gone, and its threads are not\n");
        return 1;
    }
    return 0;
}
