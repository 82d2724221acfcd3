/* Runs a command in a console whose code page is not UTF-8, and prints what the console shows, as UTF-8. Windows only.
 *
 *     console COMMAND_LINE
 *
 * The exit status is that of the command.
 */
#define _WIN32_WINNT 0x0A00
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

typedef HRESULT(WINAPI *create_fn)(COORD, HANDLE, HANDLE, DWORD, HANDLE *);
typedef void(WINAPI *close_fn)(HANDLE);

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s: error %lu\n", what, GetLastError());
        exit(99);
    }
}

/* What the console shows, until it is closed. */
static DWORD WINAPI copy(void *from)
{
    char bytes[4096];
    DWORD count;
    while (ReadFile((HANDLE)from, bytes, sizeof bytes, &count, NULL) && count) {
        fwrite(bytes, 1, count, stdout);
    }
    return 0;
}

int wmain(int count, wchar_t **arguments)
{
    /* A PSEUDOCONSOLE is an attribute of a process since Windows 10. */
    const DWORD_PTR attribute = 0x00020016;
    HMODULE kernel = GetModuleHandleA("kernel32.dll");
    create_fn create = (create_fn)(void *)GetProcAddress(kernel, "CreatePseudoConsole");
    close_fn close = (close_fn)(void *)GetProcAddress(kernel, "ClosePseudoConsole");
    HANDLE in_read, in_write, out_read, out_write, console, reader;
    COORD size = {110, 60};
    STARTUPINFOEXW start = {0};
    PROCESS_INFORMATION process;
    SIZE_T bytes = 0;
    DWORD status = 1;

    check(count == 2, "one argument is expected");
    check(create && close, "there are no pseudoconsoles");
    check(CreatePipe(&in_read, &in_write, NULL, 0) && CreatePipe(&out_read, &out_write, NULL, 0), "CreatePipe");
    check(SUCCEEDED(create(size, in_read, out_write, 0, &console)), "CreatePseudoConsole");
    InitializeProcThreadAttributeList(NULL, 1, 0, &bytes);
    start.StartupInfo.cb = sizeof start;
    /* Otherwise the command inherits the handles of this program, which are no console. */
    start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    start.lpAttributeList = malloc(bytes);
    check(InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &bytes) &&
              UpdateProcThreadAttribute(start.lpAttributeList, 0, attribute, console, sizeof console, NULL, NULL),
          "UpdateProcThreadAttribute");
    reader = CreateThread(NULL, 0, copy, out_read, 0, NULL);
    check(CreateProcessW(NULL, arguments[1], NULL, NULL, FALSE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                         &start.StartupInfo, &process),
          "CreateProcess");
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    Sleep(500); /* What was written last is shown with a delay. */
    close(console);
    CloseHandle(in_read);
    CloseHandle(out_write);
    WaitForSingleObject(reader, 2000);
    fflush(stdout);
    return (int)status;
}
