/* Runs a command in a console whose code page is not UTF-8, and prints what the console shows, as UTF-8. Windows only.
 *
 *     console COMMAND_LINE
 *
 * The exit status is the command's.
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

/* Copies the output of the console until it is closed. */
static DWORD WINAPI copy(void *from)
{
    char bytes[4096];
    DWORD count;
    while (ReadFile((HANDLE)from, bytes, sizeof bytes, &count, NULL) && count) {
        fwrite(bytes, 1, count, stdout);
    }
    return 0;
}

/* Starts a command line, and returns its exit status. */
static DWORD run(wchar_t *line, STARTUPINFOEXW *start, BOOL inherit)
{
    PROCESS_INFORMATION process;
    DWORD status = 1;
    check(CreateProcessW(NULL, line, NULL, NULL, inherit, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                         &start->StartupInfo, &process),
          "CreateProcess");
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    return status;
}

/* Inside of the console, which Wine gives to processes without their handles. */
static DWORD inside(wchar_t *line)
{
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    STARTUPINFOEXW start = {0};
    const DWORD access = GENERIC_READ | GENERIC_WRITE, share = FILE_SHARE_READ | FILE_SHARE_WRITE;
    HANDLE in = CreateFileA("CONIN$", access, share, &inherited, OPEN_EXISTING, 0, NULL);
    HANDLE out = CreateFileA("CONOUT$", access, share, &inherited, OPEN_EXISTING, 0, NULL);
    check(in != INVALID_HANDLE_VALUE && out != INVALID_HANDLE_VALUE, "the console");
    check(SetConsoleOutputCP(437), "SetConsoleOutputCP");
    start.StartupInfo.cb = sizeof start;
    start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    start.StartupInfo.hStdInput = in;
    start.StartupInfo.hStdOutput = start.StartupInfo.hStdError = out;
    return run(line, &start, TRUE);
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
    SIZE_T bytes = 0;
    DWORD status;
    wchar_t line[2048];

    if (count == 3 && !wcscmp(arguments[1], L"--inside")) {
        return (int)inside(arguments[2]);
    }
    check(count == 2 && wcslen(arguments[1]) < 1024 && !wcschr(arguments[1], L'"'), "one argument without quotes is expected");
    swprintf(line, sizeof line / sizeof *line, L"\"%ls\" --inside \"%ls\"", arguments[0], arguments[1]);
    check(create && close, "there are no pseudoconsoles");
    check(CreatePipe(&in_read, &in_write, NULL, 0) && CreatePipe(&out_read, &out_write, NULL, 0), "CreatePipe");
    check(SUCCEEDED(create(size, in_read, out_write, 0, &console)), "CreatePseudoConsole");
    InitializeProcThreadAttributeList(NULL, 1, 0, &bytes);
    start.StartupInfo.cb = sizeof start;
    /* Otherwise the command inherits the handles of this program, which are not a console. */
    SetStdHandle(STD_INPUT_HANDLE, NULL);
    SetStdHandle(STD_OUTPUT_HANDLE, NULL);
    SetStdHandle(STD_ERROR_HANDLE, NULL);
    start.lpAttributeList = malloc(bytes);
    check(InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &bytes) &&
              UpdateProcThreadAttribute(start.lpAttributeList, 0, attribute, console, sizeof console, NULL, NULL),
          "UpdateProcThreadAttribute");
    reader = CreateThread(NULL, 0, copy, out_read, 0, NULL);
    status = run(line, &start, FALSE);
    Sleep(500); /* What was written last is shown with a delay. */
    close(console);
    CloseHandle(in_read);
    CloseHandle(out_write);
    WaitForSingleObject(reader, 2000);
    fflush(stdout);
    return (int)status;
}
