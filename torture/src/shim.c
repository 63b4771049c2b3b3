/* Stands between a program and the system's library. Of the calls that concern a folder it can keep a log of those that change
 * something, with their data, and let the Nth of some kinds fail, be cut short, or kill the program.
 *
 * TORTURE_BELOW: the folder, as the system spells it. TORTURE_LOG: a file that the log is appended to; without it none is kept.
 * TORTURE_CONTROL: a file of 4096 bytes that says which call fails (its layout: `struct control`, and shim.rs). The program may
 * change it at any time.
 *
 * A record of the log is `struct record`, the path, the second path, and the data. What goes past the system's library is not seen.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DATA = 1, SYNC = 2, NAME = 4, REMOVE = 8, OPEN = 16, READ = 32, MAP = 64, LOCK = 128, STAT = 256, LIST = 512, CREATE = 1024 };
enum { CHANGES = DATA | SYNC | NAME | REMOVE | CREATE };
enum { PASS = 0, FAIL = 1, SHORT = 2, KILL = 3 };

struct control {
    int64_t fault;   /* PASS only counts */
    int64_t error;   /* what errno becomes */
    int64_t at;      /* which call, from 1; 0 for none */
    int64_t lasting; /* whether all later ones fail too */
    int64_t kinds;   /* which calls count; 0 for none */
    int64_t calls;   /* how many were counted */
    int64_t struck;  /* how many failed */
    int64_t changes; /* how many changed something, whatever `kinds` says */
    char last[256];  /* the call that failed last, and its path */
};

struct record {
    uint32_t op, path, second, unused;
    uint64_t inode, at, bytes;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int log_file = -1;
static struct control none, *control = &none;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("TORTURE_LOG"), *page = getenv("TORTURE_CONTROL");
    folder = getenv("TORTURE_BELOW");
    folder_length = folder ? strlen(folder) : 0;
    if (log) log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (page) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, page, O_RDWR | O_CLOEXEC, 0);
        void *mapped = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) control = mapped;
        syscall(SYS_close, file);
    }
}

static void complain(const char *what) {
    dprintf(2, "torture: the recorder knows no %s\n", what);
    abort();
}

static int is_below(const char *path) {
    if (!folder || !path || strncmp(path, folder, folder_length) != 0) return 0;
    return path[folder_length] == '/' || path[folder_length] == 0;
}

/* The path of an open file, if it lies below the folder. */
static int fd_path(int fd, char *path) {
    char link[64];
    if (!folder || fd < 3) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

/* The same of a path that may be relative to an open folder. */
static int at_path(int fd, const char *name, char *path) {
    if (!name) return 0;
    if (name[0] == '/' || fd == AT_FDCWD) {
        snprintf(path, PATH_MAX, "%s", name);
        return is_below(path);
    }
    if (!fd_path(fd, path)) return 0;
    size_t length = strlen(path);
    if (name[0]) snprintf(path + length, PATH_MAX - length, "/%s", name);
    return 1;
}

/* What becomes of a call: PASS, SHORT, or FAIL with errno set. */
static int strikes(int kind, const char *call, const char *path) {
    if (kind & CHANGES) __atomic_add_fetch(&control->changes, 1, __ATOMIC_SEQ_CST);
    if (!(kind & control->kinds)) return PASS;
    int64_t number = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
    if (control->at == 0 || number < control->at || (number > control->at && !control->lasting)) return PASS;
    if (control->fault == PASS) return PASS;
    __atomic_add_fetch(&control->struck, 1, __ATOMIC_SEQ_CST);
    snprintf(control->last, sizeof control->last, "%s %s", call, path + folder_length);
    if (control->fault == KILL) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = (int)control->error;
    return (int)control->fault;
}

static uint64_t inode_of(int fd, const char *path) {
    struct stat found;
    int flags = fd < 0 ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    long status = syscall(SYS_newfstatat, fd < 0 ? AT_FDCWD : fd, fd < 0 ? path : "", &found, flags);
    return status == 0 ? found.st_ino : 0;
}

static void record(char op, const char *path, const char *second, uint64_t inode, uint64_t at, const void *data, uint64_t bytes) {
    path = path ? path + folder_length : "";
    second = second ? second + folder_length : "";
    struct record head = {(uint32_t)op, (uint32_t)strlen(path), (uint32_t)strlen(second), 0, inode, at, bytes};
    struct iovec parts[4] = {
        {&head, sizeof head}, {(void *)path, head.path}, {(void *)second, head.second}, {(void *)data, data ? bytes : 0}};
    size_t all = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len + parts[3].iov_len;
    if (syscall(SYS_writev, log_file, parts, 4) != (long)all) complain("way to write its log");
}

/* Runs a call, and what is recorded of it, with no other in between. */
#define ALONE(type, call, then)                                 \
    ({                                                          \
        if (log_file >= 0) pthread_mutex_lock(&one_at_a_time);  \
        type result = (call);                                   \
        int error = errno;                                      \
        if (log_file >= 0) { then; }                            \
        if (log_file >= 0) pthread_mutex_unlock(&one_at_a_time); \
        errno = error;                                          \
        result;                                                 \
    })

static ssize_t write_at(int fd, const struct iovec *parts, int count, int64_t at, const char *name) {
    char path[PATH_MAX];
    int concerned = fd_path(fd, path);
    struct iovec less[1];
    if (concerned) switch (strikes(DATA, name, path)) {
        case FAIL: return -1;
        case SHORT:
            less[0] = parts[0];
            if (less[0].iov_len > 1) less[0].iov_len /= 2;
            parts = less;
            count = 1;
        }
    int logged = concerned && log_file >= 0;
    if (logged) pthread_mutex_lock(&one_at_a_time);
    int64_t place = at;
    if (logged && at < 0) {
        struct stat found;
        int appends = (int)syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND;
        syscall(SYS_newfstatat, fd, "", &found, AT_EMPTY_PATH);
        place = appends ? found.st_size : syscall(SYS_lseek, fd, 0, SEEK_CUR);
    }
    ssize_t written = at < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwrite64, fd, parts[0].iov_base, parts[0].iov_len, at);
    int error = errno;
    if (logged) {
        uint64_t inode = inode_of(fd, NULL);
        ssize_t left = written;
        for (int part = 0; part < count && left > 0; part++) {
            size_t length = parts[part].iov_len < (size_t)left ? parts[part].iov_len : (size_t)left;
            if (length) record('w', path, NULL, inode, (uint64_t)place, parts[part].iov_base, length);
            place += (int64_t)length;
            left -= (ssize_t)length;
        }
        pthread_mutex_unlock(&one_at_a_time);
    }
    errno = error;
    return written;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    struct iovec part = {(void *)bytes, count};
    return write_at(fd, &part, 1, -1, "write");
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    struct iovec part = {(void *)bytes, count};
    return write_at(fd, &part, 1, at, "pwrite");
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_at(fd, parts, count, -1, "writev"); }

static int synced(int fd, int (*real)(int), const char *name) {
    char path[PATH_MAX];
    if (!fd_path(fd, path)) return real(fd);
    if (strikes(SYNC, name, path) == FAIL) return -1;
    return ALONE(int, real(fd), if (result == 0) record('s', path, NULL, inode_of(fd, NULL), 0, NULL, 0));
}
int fsync(int fd) { return synced(fd, REAL(fsync), "fsync"); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync), "fdatasync"); }

int ftruncate64(int fd, off64_t length) {
    char path[PATH_MAX];
    if (!fd_path(fd, path)) return REAL(ftruncate64)(fd, length);
    if (strikes(DATA, "ftruncate", path) == FAIL) return -1;
    return ALONE(int, REAL(ftruncate64)(fd, length), if (result == 0) record('t', path, NULL, inode_of(fd, NULL), (uint64_t)length, NULL, 0));
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int renamed(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    char old[PATH_MAX], new[PATH_MAX];
    int concerned = at_path(from_fd, from, old) | at_path(to_fd, to, new) << 1;
    if (!concerned) return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    if (strikes(NAME, "rename", concerned & 2 ? new : old) == FAIL) return -1;
    if (log_file >= 0 && (concerned != 3 || flags)) complain("rename across the folder's border, or with flags");
    return ALONE(int, (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags), if (result == 0) record('r', old, new, 0, 0, NULL, 0));
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return renamed(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return renamed(a, from, b, to, flags); }

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    char old[PATH_MAX], new[PATH_MAX];
    int concerned = at_path(from_fd, from, old) | at_path(to_fd, to, new) << 1;
    if (!(concerned & 2)) return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
    if (strikes(NAME, "link", new) == FAIL) return -1;
    if (log_file >= 0 && concerned != 3) complain("link across the folder's border");
    return ALONE(int, (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags), if (result == 0) record('l', new, NULL, inode_of(-1, new), 0, NULL, 0));
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlinkat(const char *target, int fd, const char *path) {
    char full[PATH_MAX];
    if (at_path(fd, path, full)) {
        if (strikes(NAME, "symlink", full) == FAIL) return -1;
        if (log_file >= 0) complain("symbolic links");
    }
    return (int)syscall(SYS_symlinkat, target, fd, path);
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

int mkdirat(int fd, const char *path, mode_t mode) {
    char full[PATH_MAX];
    if (!at_path(fd, path, full)) return (int)syscall(SYS_mkdirat, fd, path, mode);
    if (strikes(NAME, "mkdir", full) == FAIL) return -1;
    return ALONE(int, (int)syscall(SYS_mkdirat, fd, path, mode), if (result == 0) record('m', full, NULL, inode_of(-1, full), 0, NULL, 0));
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int fd, const char *path, int flags) {
    char full[PATH_MAX];
    if (!at_path(fd, path, full)) return (int)syscall(SYS_unlinkat, fd, path, flags);
    if (strikes(REMOVE, flags & AT_REMOVEDIR ? "rmdir" : "unlink", full) == FAIL) return -1;
    return ALONE(int, (int)syscall(SYS_unlinkat, fd, path, flags), if (result == 0) record('u', full, NULL, 0, 0, NULL, 0));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

static int opened(int fd, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!at_path(fd, name, path)) return (int)syscall(SYS_openat, fd, name, flags, mode);
    if ((flags & O_TMPFILE) == O_TMPFILE && log_file >= 0) complain("files without names");
    if (strikes(flags & (O_CREAT | O_TRUNC) ? CREATE : OPEN, "open", path) == FAIL) return -1;
    if (log_file < 0) return (int)syscall(SYS_openat, fd, name, flags, mode);
    pthread_mutex_lock(&one_at_a_time);
    uint64_t before = inode_of(-1, path);
    int result = (int)syscall(SYS_openat, fd, name, flags, mode);
    int error = errno;
    if (result >= 0) {
        uint64_t inode = inode_of(result, NULL);
        record(before ? 'o' : 'c', path, NULL, inode, 0, NULL, 0);
        if (before && (flags & O_TRUNC)) record('t', path, NULL, inode, 0, NULL, 0);
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return result;
}
#define MODE                                     \
    va_list rest;                                \
    va_start(rest, flags);                       \
    mode_t mode = va_arg(rest, mode_t);          \
    va_end(rest)
int open(const char *path, int flags, ...) { MODE; return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE; return opened(AT_FDCWD, path, flags, mode); }
int openat(int fd, const char *path, int flags, ...) { MODE; return opened(fd, path, flags, mode); }
int openat64(int fd, const char *path, int flags, ...) { MODE; return opened(fd, path, flags, mode); }
int creat64(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* The standard library then copies by reading and writing. */
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags) {
    char path[PATH_MAX];
    if (fd_path(to, path)) { errno = ENOSYS; return -1; }
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, count, flags);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t count) {
    char path[PATH_MAX];
    if (fd_path(to, path)) { errno = EINVAL; return -1; }
    return syscall(SYS_sendfile, to, from, at, count);
}
int fallocate64(int fd, int mode, off64_t at, off64_t length) {
    char path[PATH_MAX];
    if (fd_path(fd, path) && log_file >= 0) complain("fallocate");
    return (int)syscall(SYS_fallocate, fd, mode, at, length);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
    char path[PATH_MAX];
    if (fd_path(fd, path) && log_file >= 0) complain("pwritev");
    return REAL(pwritev64)(fd, parts, count, at);
}

ssize_t read(int fd, void *bytes, size_t count) {
    char path[PATH_MAX];
    if ((control->kinds & READ) && fd_path(fd, path) && strikes(READ, "read", path) == FAIL) return -1;
    return syscall(SYS_read, fd, bytes, count);
}
ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
    char path[PATH_MAX];
    if ((control->kinds & READ) && fd_path(fd, path) && strikes(READ, "pread", path) == FAIL) return -1;
    return syscall(SYS_pread64, fd, bytes, count, at);
}
ssize_t readv(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if ((control->kinds & READ) && fd_path(fd, path) && strikes(READ, "readv", path) == FAIL) return -1;
    return syscall(SYS_readv, fd, parts, count);
}
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t at) {
    char path[PATH_MAX];
    if (fd >= 0 && !(flags & MAP_ANONYMOUS) && fd_path(fd, path)) {
        if ((protection & PROT_WRITE) && (flags & MAP_SHARED) && log_file >= 0) complain("writing through memory");
        if (strikes(MAP, "mmap", path) == FAIL) return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, at);
}
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t at) {
    return mmap64(address, length, protection, flags, fd, at);
}
int flock(int fd, int operation) {
    char path[PATH_MAX];
    if ((control->kinds & LOCK) && fd_path(fd, path) && strikes(LOCK, "flock", path) == FAIL) return -1;
    return (int)syscall(SYS_flock, fd, operation);
}
int statx(int fd, const char *name, int flags, unsigned mask, struct statx *found) {
    char path[PATH_MAX];
    if ((control->kinds & STAT) && at_path(fd, name, path) && strikes(STAT, "stat", path) == FAIL) return -1;
    return (int)syscall(SYS_statx, fd, name, flags, mask, found);
}
DIR *opendir(const char *name) {
    DIR *(*real)(const char *) = REAL(opendir);
    if ((control->kinds & LIST) && is_below(name) && strikes(LIST, "opendir", name) == FAIL) return NULL;
    return real(name);
}
struct dirent64 *readdir64(DIR *folder_stream) {
    struct dirent64 *(*real)(DIR *) = REAL(readdir64);
    char path[PATH_MAX];
    if ((control->kinds & LIST) && fd_path(dirfd(folder_stream), path) && strikes(LIST, "readdir", path) == FAIL) return NULL;
    return real(folder_stream);
}
