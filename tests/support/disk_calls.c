/* Records the calls of a process that change files or wait for the disk. Loaded by LD_PRELOAD; see disk_calls.py.

   One line a call, appended to the file $DISK_CALLS:   what TAB path TAB new path   (the last one only of a rename) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void record(const char *what, const char *path, const char *other) {
    static int descriptor = -1;
    char line[2 * PATH_MAX + 64];
    int before = errno, length;
    if (descriptor < 0) {
        const char *file = getenv("DISK_CALLS");
        if (file == NULL)
            return;
        descriptor = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    length = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, path, other);
    syscall(SYS_write, descriptor, line, (size_t)length);
    errno = before;
}

static void record_descriptor(const char *what, int descriptor) {
    char name[64], path[PATH_MAX];
    ssize_t length;
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    length = readlink(name, path, sizeof path - 1);
    if (length > 0 && path[0] == '/') {
        path[length] = 0;
        record(what, path, "");
    }
}

/* Record a write: one to a descriptor that waits for the disk counts as a write and a sync. */
static void record_write(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    record_descriptor(flags >= 0 && (flags & O_DSYNC) ? "synced write" : "write", descriptor);
}

#define WRITE(name, parameters, arguments)                                                                             \
    ssize_t name parameters {                                                                                          \
        ssize_t written = REAL(name) arguments;                                                                        \
        if (written > 0)                                                                                               \
            record_write(fd);                                                                                          \
        return written;                                                                                                \
    }

WRITE(write, (int fd, const void *data, size_t size), (fd, data, size))
WRITE(pwrite, (int fd, const void *data, size_t size, off_t place), (fd, data, size, place))
WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t place), (fd, data, size, place))
WRITE(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITE(pwritev, (int fd, const struct iovec *parts, int count, off_t place), (fd, parts, count, place))
WRITE(pwritev64, (int fd, const struct iovec *parts, int count, off64_t place), (fd, parts, count, place))

#define SYNC(name)                                                                                                     \
    int name(int fd) {                                                                                                 \
        int failed = REAL(name)(fd);                                                                                   \
        if (!failed)                                                                                                   \
            record_descriptor("sync", fd);                                                                             \
        return failed;                                                                                                 \
    }

SYNC(fsync)
SYNC(fdatasync)

int ftruncate(int fd, off_t size) {
    int failed = REAL(ftruncate)(fd, size);
    if (!failed)
        record_write(fd);
    return failed;
}

/* Only opens that make a file are recorded. */
#define OPEN(name, parameters, arguments)                                                                              \
    int name parameters {                                                                                              \
        mode_t mode = 0;                                                                                               \
        int descriptor, is_new = (flags & O_CREAT) && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;               \
        if (flags & O_CREAT) {                                                                                         \
            va_list more;                                                                                              \
            va_start(more, flags);                                                                                     \
            mode = va_arg(more, mode_t);                                                                               \
            va_end(more);                                                                                              \
        }                                                                                                              \
        descriptor = REAL(name) arguments;                                                                             \
        if (is_new && descriptor >= 0)                                                                                 \
            record_descriptor("create", descriptor);                                                                   \
        return descriptor;                                                                                             \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))

int rename(const char *path, const char *other) {
    record("rename", path, other);
    return REAL(rename)(path, other);
}

int unlink(const char *path) {
    record("unlink", path, "");
    return REAL(unlink)(path);
}
