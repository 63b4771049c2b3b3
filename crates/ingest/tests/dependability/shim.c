/* Stands between a program and the system's library, and lets the Nth call that changes something
 * below a folder fail, or kills the program there.
 *
 * KEN_FAULT_BELOW: the folder. KEN_FAULT_CALLS: "all", or "publishing" for those that concern
 * neither a stage nor a removal. KEN_FAULT_AT: N, from 1; 0 for never. KEN_FAULT: "kill", or the
 * number of the error to fail with. KEN_FAULT_COUNT: a file that gets the number of calls at exit.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static int only_publishing(void) {
    const char *which = getenv("KEN_FAULT_CALLS");
    return which && strcmp(which, "publishing") == 0;
}

static int below(const char *path) {
    const char *folder = getenv("KEN_FAULT_BELOW");
    if (!folder || !path || strncmp(path, folder, strlen(folder)) != 0) return 0;
    return !(only_publishing() && strstr(path, "/staging"));
}

static int removes(int concerned) { return concerned && !only_publishing(); }

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Whether this call is the one that fails. */
static int strikes(int concerned) {
    if (!concerned) return 0;
    const char *at = getenv("KEN_FAULT_AT"), *fault = getenv("KEN_FAULT");
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (!at || !fault || call != atol(at)) return 0;
    if (strcmp(fault, "kill") == 0) kill(getpid(), SIGKILL);
    errno = atoi(fault);
    return 1;
}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("KEN_FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld", (long)calls);
    fclose(file);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    return strikes(fd_below(fd)) ? -1 : REAL(write)(fd, bytes, count);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    return strikes(fd_below(fd)) ? -1 : REAL(pwrite64)(fd, bytes, count, at);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    return strikes(fd_below(fd)) ? -1 : REAL(writev)(fd, parts, count);
}
int fsync(int fd) { return strikes(fd_below(fd)) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return strikes(fd_below(fd)) ? -1 : REAL(fdatasync)(fd); }
int ftruncate64(int fd, off64_t length) {
    return strikes(fd_below(fd)) ? -1 : REAL(ftruncate64)(fd, length);
}
int rename(const char *from, const char *to) {
    return strikes(below(to)) ? -1 : REAL(rename)(from, to);
}
int mkdir(const char *path, mode_t mode) {
    return strikes(below(path)) ? -1 : REAL(mkdir)(path, mode);
}
int unlink(const char *path) { return strikes(removes(below(path))) ? -1 : REAL(unlink)(path); }
int rmdir(const char *path) { return strikes(removes(below(path))) ? -1 : REAL(rmdir)(path); }
int unlinkat(int folder, const char *path, int flags) {
    return strikes(removes(fd_below(folder) || below(path))) ? -1 : REAL(unlinkat)(folder, path, flags);
}
int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return strikes((flags & O_CREAT) && below(path)) ? -1 : REAL(open64)(path, flags, mode);
}
