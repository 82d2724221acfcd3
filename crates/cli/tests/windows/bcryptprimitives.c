/* The DLL that Wine 8 lacks and whose one function Rust's standard library imports, for .ci/windows. */
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    while (size) {
        ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;
        if (!RtlGenRandom(data, part)) {
            return FALSE;
        }
        data += part;
        size -= part;
    }
    return TRUE;
}
