/* Records what a process does to the files below a folder. Loaded by LD_PRELOAD; see disk_recorder.py.

   DISK_ROOT    the folder; files elsewhere are not recorded
   DISK_EVENTS  the file that gets the events

   event   kind u8 | number u64 | other u64 | size u32 | bytes                                       (native order)

   Each call happens between the lock and the unlock of one mutex, so that the order of events is that of the calls.
   A sync has two events: what was written before its begin is on the disk at its end. So has a write to a descriptor
   that waits for the disk, behind the event of the write. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 'c', TRUNCATE = 't', WRITE = 'w', HOLE = 'h', SYNC_BEGIN = 's', SYNC_END = 'e', RENAME = 'r', UNLINK = 'u',
       FOLDER = 'd', REPLY = 'a' };

static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *root;
static size_t root_size;
static int events = -1;
static uint64_t syncs;

#define REAL(type, name, ...) static type (*real_##name)(__VA_ARGS__)
REAL(int, open, const char *, int, ...);
REAL(int, openat, int, const char *, int, ...);
REAL(ssize_t, write, int, const void *, size_t);
REAL(ssize_t, writev, int, const struct iovec *, int);
REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
REAL(int, ftruncate, int, off_t);
REAL(int, fallocate, int, int, off_t, off_t);
REAL(int, fsync, int);
REAL(int, fdatasync, int);
REAL(int, rename, const char *, const char *);
REAL(int, unlink, const char *);
REAL(int, mkdir, const char *, mode_t);

__attribute__((constructor)) static void begin(void) {
#define FIND(name) real_##name = dlsym(RTLD_NEXT, #name)
    FIND(open); FIND(openat); FIND(write); FIND(writev); FIND(pwrite); FIND(pwritev); FIND(ftruncate); FIND(fsync);
    FIND(fallocate); FIND(fdatasync); FIND(rename); FIND(unlink); FIND(mkdir);
    root = getenv("DISK_ROOT");
    const char *path = getenv("DISK_EVENTS");
    if (!root || !path) return;
    root_size = strlen(root);
    events = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void note(char kind, uint64_t number, uint64_t other, const void *bytes, uint32_t size) {
    unsigned char head[21];
    head[0] = kind;
    memcpy(head + 1, &number, 8);
    memcpy(head + 9, &other, 8);
    memcpy(head + 17, &size, 4);
    struct iovec parts[2] = {{head, sizeof head}, {(void *)bytes, size}};
    if (real_writev(events, parts, 2) != (ssize_t)(sizeof head + size)) abort();
}

static int is_inside(const char *path) {
    return events >= 0 && !strncmp(path, root, root_size) && (path[root_size] == '/' || !path[root_size]);
}

/* The number of a regular file below the folder, else 0. */
static uint64_t file_of(int fd) {
    char link[64], path[PATH_MAX];
    struct stat status;
    if (events < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return is_inside(path) ? status.st_ino : 0;
}

static void note_open(int fd, const char *path, int flags, int was_there) {
    struct stat status;
    if (fd < 0 || !is_inside(path) || fstat(fd, &status) || !S_ISREG(status.st_mode)) return;
    if (!was_there) note(CREATE, status.st_ino, 0, path, strlen(path));
    else if (flags & O_TRUNC) note(TRUNCATE, status.st_ino, 0, "", 0);
}

#define OPEN(name)                                                                                                    \
    int name(const char *path, int flags, ...) {                                                                      \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest);                        \
        pthread_mutex_lock(&turn);                                                                                    \
        int was_there = !access(path, F_OK), fd = real_open(path, flags, mode), error = errno;                        \
        note_open(fd, path, flags, was_there);                                                                        \
        pthread_mutex_unlock(&turn); errno = error; return fd;                                                        \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                  \
    int name(int folder, const char *path, int flags, ...) {                                                          \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest);                        \
        pthread_mutex_lock(&turn);                                                                                    \
        int was_there = !faccessat(folder, path, F_OK, 0), fd = real_openat(folder, path, flags, mode), error = errno; \
        note_open(fd, path, flags, was_there);                                                                        \
        pthread_mutex_unlock(&turn); errno = error; return fd;                                                        \
    }
OPENAT(openat)
OPENAT(openat64)

static void note_write(int fd, uint64_t file, const struct iovec *parts, ssize_t done, off_t place) {
    for (; done > 0; parts++) {
        size_t size = (size_t)done < parts->iov_len ? (size_t)done : parts->iov_len;
        note(WRITE, file, place, parts->iov_base, size);
        done -= size; place += size;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || !(flags & O_DSYNC)) return;
    note(SYNC_BEGIN, file, ++syncs, "", 0);
    note(SYNC_END, file, syncs, "", 0);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    uint64_t file = file_of(fd);
    if (!file) return real_writev(fd, parts, count);
    pthread_mutex_lock(&turn);
    ssize_t done = real_writev(fd, parts, count); int error = errno;
    if (done > 0) note_write(fd, file, parts, done, lseek(fd, 0, SEEK_CUR) - done);
    pthread_mutex_unlock(&turn); errno = error; return done;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    uint64_t file = events >= 0 ? file_of(fd) : 0;
    if (!file && !(events >= 0 && size > 6 && !memcmp(bytes, "reply ", 6))) return real_write(fd, bytes, size);
    pthread_mutex_lock(&turn);
    if (!file) note(REPLY, 0, 0, bytes, size);  /* what a process promises, before anyone can read it */
    ssize_t done = real_write(fd, bytes, size); int error = errno;
    struct iovec part = {(void *)bytes, size};
    if (file && done > 0) note_write(fd, file, &part, done, lseek(fd, 0, SEEK_CUR) - done);
    pthread_mutex_unlock(&turn); errno = error; return done;
}

#define PWRITE(name)                                                                                                  \
    ssize_t name(int fd, const void *bytes, size_t size, off_t place) {                                               \
        uint64_t file = file_of(fd);                                                                                  \
        if (!file) return real_pwrite(fd, bytes, size, place);                                                        \
        pthread_mutex_lock(&turn);                                                                                    \
        ssize_t done = real_pwrite(fd, bytes, size, place); int error = errno;                                        \
        struct iovec part = {(void *)bytes, size};                                                                    \
        if (done > 0) note_write(fd, file, &part, done, place);                                                           \
        pthread_mutex_unlock(&turn); errno = error; return done;                                                      \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name)                                                                                                 \
    ssize_t name(int fd, const struct iovec *parts, int count, off_t place) {                                         \
        uint64_t file = file_of(fd);                                                                                  \
        if (!file) return real_pwritev(fd, parts, count, place);                                                      \
        pthread_mutex_lock(&turn);                                                                                    \
        ssize_t done = real_pwritev(fd, parts, count, place); int error = errno;                                      \
        if (done > 0) note_write(fd, file, parts, done, place);                                                           \
        pthread_mutex_unlock(&turn); errno = error; return done;                                                      \
    }
PWRITEV(pwritev)
PWRITEV(pwritev64)

#define FTRUNCATE(name)                                                                                               \
    int name(int fd, off_t size) {                                                                                    \
        uint64_t file = file_of(fd);                                                                                  \
        if (!file) return real_ftruncate(fd, size);                                                                   \
        pthread_mutex_lock(&turn);                                                                                    \
        int done = real_ftruncate(fd, size), error = errno;                                                           \
        if (!done) note(TRUNCATE, file, size, "", 0);                                                                 \
        pthread_mutex_unlock(&turn); errno = error; return done;                                                      \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

/* Of the modes of fallocate only holes change what a file holds; the content of the event is the size of the hole. */
#define FALLOCATE(name)                                                                                               \
    int name(int fd, int mode, off_t place, off_t size) {                                                             \
        uint64_t file = mode & FALLOC_FL_PUNCH_HOLE ? file_of(fd) : 0, bytes = size;                                  \
        if (!file) return real_fallocate(fd, mode, place, size);                                                      \
        pthread_mutex_lock(&turn);                                                                                    \
        int done = real_fallocate(fd, mode, place, size), error = errno;                                              \
        if (!done) note(HOLE, file, place, &bytes, sizeof bytes);                                                     \
        pthread_mutex_unlock(&turn); errno = error; return done;                                                      \
    }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

/* Syncs a file, or the list of a folder, which is named by its path. */
static int synced(int fd, int (*sync)(int)) {
    char link[64], path[PATH_MAX];
    uint64_t file = file_of(fd);
    uint32_t size = 0;
    if (!file && events >= 0) {
        struct stat status;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t read = fstat(fd, &status) || !S_ISDIR(status.st_mode) ? -1 : readlink(link, path, sizeof path - 1);
        if (read > 0) { path[read] = 0; if (is_inside(path)) size = read; }
    }
    if (!file && !size) return sync(fd);
    pthread_mutex_lock(&turn);
    uint64_t number = ++syncs;
    note(SYNC_BEGIN, file, number, path, size);
    pthread_mutex_unlock(&turn);
    int done = sync(fd), error = errno;
    pthread_mutex_lock(&turn);
    if (!done) note(SYNC_END, file, number, "", 0);
    pthread_mutex_unlock(&turn); errno = error; return done;
}

int fsync(int fd) { return synced(fd, real_fsync); }
int fdatasync(int fd) { return synced(fd, real_fdatasync); }

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&turn);
    int done = real_rename(from, to), error = errno;
    if (!done && is_inside(to)) {
        char both[2 * PATH_MAX];
        int size = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
        note(RENAME, 0, 0, both, size);
    }
    pthread_mutex_unlock(&turn); errno = error; return done;
}

int unlink(const char *path) {
    pthread_mutex_lock(&turn);
    int done = real_unlink(path), error = errno;
    if (!done && is_inside(path)) note(UNLINK, 0, 0, path, strlen(path));
    pthread_mutex_unlock(&turn); errno = error; return done;
}

int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&turn);
    int done = real_mkdir(path, mode), error = errno;
    if (!done && is_inside(path)) note(FOLDER, 0, 0, path, strlen(path));
    pthread_mutex_unlock(&turn); errno = error; return done;
}
