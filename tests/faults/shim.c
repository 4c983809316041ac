/* shim.c - makes one call of a chosen kind fail. Preloaded into a program by tests/faults/run.py.
 *
 * BLICA_FAULT=KIND:INDEX:ERROR lets call number INDEX (from 0, counted from the start of main) of the kind fail:
 *   malloc  malloc, calloc, realloc, posix_memalign, aligned_alloc
 *   open, read, write, fsync, rename, close, mkdir, link: the system calls of these names and their like
 * ERROR is a name such as ENOSPC; SHORT lets a write take half of its bytes. An INDEX of -1 counts only.
 * BLICA_FAULT_LOG names a file of two 64-bit numbers: calls of the kind, and whether the fault happened (2: it was
 * spared, see fragile_names).
 *
 * stdio makes its system calls inside libc, where no preloaded function can stand in their way. So a seccomp filter
 * traps those whose instruction lies in libc, and the handler of SIGSYS, here, makes the call itself or says that it
 * failed. What the sanitizers' own code calls is left alone. The standard error, and files of the system (fonts,
 * /proc), are too. So is what MPI asks for, on its threads and below its functions: it ends the job when it gets no
 * memory, and how often it asks hangs on the clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the handler reads the registers of x86-64"
#endif

enum {
  FAULT_MALLOC = 1,
  FAULT_OPEN,
  FAULT_READ,
  FAULT_WRITE,
  FAULT_FSYNC,
  FAULT_RENAME,
  FAULT_CLOSE,
  FAULT_MKDIR,
  FAULT_LINK
};
enum { SHORT_WRITE = -1, SPARED = 2 };

static const struct {
  const char *name;
  int kind, calls[4];
} kinds[] = {{"malloc", FAULT_MALLOC, {-1}},
             {"open", FAULT_OPEN, {SYS_openat, SYS_open, -1}},
             {"read", FAULT_READ, {SYS_read, SYS_pread64, SYS_readv, -1}},
             {"write", FAULT_WRITE, {SYS_write, SYS_writev, SYS_pwrite64, -1}},
             {"fsync", FAULT_FSYNC, {SYS_fsync, SYS_fdatasync, -1}},
             {"rename", FAULT_RENAME, {SYS_rename, SYS_renameat, SYS_renameat2, -1}},
             {"close", FAULT_CLOSE, {SYS_close, -1}},
             {"mkdir", FAULT_MKDIR, {SYS_mkdir, SYS_mkdirat, -1}},
             {"link", FAULT_LINK, {SYS_link, SYS_linkat, -1}}};

static const struct {
  const char *name;
  int number;
} errors[] = {{"ENOMEM", ENOMEM}, {"ENOSPC", ENOSPC}, {"EIO", EIO},
              {"EACCES", EACCES}, {"EMFILE", EMFILE}, {"SHORT", SHORT_WRITE}};

typedef struct {
  atomic_llong calls, fired;
} counters;

static counters unlogged;
static counters *count = &unlogged;
static int armed, kind, error;
static const int *trapped;
static long long fail_at = -1;

typedef struct {
  uint64_t low, high;
} text_range;

static int within(const text_range *text, int texts) {
  void *frame[64];
  int depth = backtrace(frame, 64);
  for (int i = 0; i < depth; i++)
    for (int t = 0; t < texts; t++)
      if ((uint64_t)(uintptr_t)frame[i] >= text[t].low && (uint64_t)(uintptr_t)frame[i] < text[t].high) return 1;
  return 0;
}

static text_range messages; /* of libmpi, where there is one */
static pthread_t main_thread;
static _Thread_local int looking;

static int asked_by_messages(void) {
  if (!messages.low) return 0;
  if (looking || !pthread_equal(pthread_self(), main_thread)) return 1;
  looking = 1;
  int found = within(&messages, 1);
  looking = 0;
  return found;
}

/* True when this call is the one. */
static int strike(void) {
  if (asked_by_messages()) return 0;
  if (atomic_fetch_add(&count->calls, 1) != fail_at) return 0;
  atomic_store(&count->fired, 1);
  return 1;
}

/* These libraries follow a null pointer when one allocation fails, and nothing that calls them can help that. The
 * program does not enter them when memory is short. */
static const char *const fragile_names[] = {"/libfontconfig.so", "/libpixman-1.so"};
enum { FRAGILE = sizeof fragile_names / sizeof *fragile_names };
static text_range fragile[FRAGILE];

static int inside_fragile(void) {
  return within(fragile, FRAGILE);
}

/* ---- memory ---- */

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
static void *(*real_aligned)(size_t, size_t);
static int (*real_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);

/* dlsym may allocate before there is anything to allocate with. */
static char early[1 << 16] __attribute__((aligned(16)));
static size_t early_used;
static int resolving;

static void *early_alloc(size_t size) {
  size_t at = early_used;
  early_used += (size + 15) / 16 * 16;
  if (early_used > sizeof early) _exit(125);
  return early + at;
}

static int is_early(const void *p) {
  return (const char *)p >= early && (const char *)p < early + sizeof early;
}

static void resolve(void) {
  if (real_free || resolving) return;
  resolving = 1;
  *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
  *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
  *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
  *(void **)&real_aligned = dlsym(RTLD_NEXT, "aligned_alloc");
  *(void **)&real_memalign = dlsym(RTLD_NEXT, "posix_memalign");
  *(void **)&real_free = dlsym(RTLD_NEXT, "free");
  resolving = 0;
}

static int deny(void) {
  if (!armed || kind != FAULT_MALLOC || !strike()) return 0;
  armed = 0; /* backtrace may allocate */
  if (inside_fragile()) {
    atomic_store(&count->fired, SPARED);
    return 0;
  }
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) {
  resolve();
  if (!real_free) return early_alloc(size);
  return deny() ? NULL : real_malloc(size);
}

void *calloc(size_t items, size_t size) {
  resolve();
  if (!real_free) return early_alloc(items * size); /* static memory is zero */
  return deny() ? NULL : real_calloc(items, size);
}

void *realloc(void *old, size_t size) {
  resolve();
  if (!real_free || is_early(old)) {
    void *block = malloc(size);
    if (block && old) memcpy(block, old, size < sizeof early - (size_t)((char *)old - early) ? size : 0);
    return block;
  }
  return deny() ? NULL : real_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  resolve();
  return deny() ? NULL : real_aligned(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  resolve();
  return deny() ? ENOMEM : real_memalign(out, alignment, size);
}

void free(void *block) {
  resolve();
  if (block && !is_early(block) && real_free) real_free(block);
}

/* ---- system calls ---- */

static long system_call(long number, const long long a[6]) {
  long result;
  register long long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static unsigned char foreign[4096]; /* descriptors of files of the system */

static int of_system(const char *path) {
  static const char *const roots[] = {"/proc/", "/sys/", "/usr/", "/etc/", "/lib", "/var/cache/", "/dev/urandom"};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    if (strncmp(path, roots[i], strlen(roots[i])) == 0) return 1;
  return strstr(path, "/.cache/") || strstr(path, "fontconfig") || strstr(path, "/fonts");
}

/* Whether the call is one that may be made to fail. */
static int counts(long number, const long long a[6]) {
  if (kind == FAULT_OPEN) return !of_system((const char *)(number == SYS_open ? a[0] : a[1]));
  if (kind == FAULT_READ || kind == FAULT_WRITE || kind == FAULT_CLOSE)
    return a[0] >= 0 && a[0] != STDERR_FILENO && !(a[0] < (long long)sizeof foreign && foreign[a[0]]);
  return 1;
}

static long failed(long number, long long a[6]) {
  if (error == SHORT_WRITE && number != SYS_writev) {
    if (a[2] > 1) a[2] /= 2;
    return system_call(number, a);
  }
  if (kind == FAULT_CLOSE) (void)system_call(number, a); /* as Linux does: the descriptor is gone */
  return error == SHORT_WRITE ? system_call(number, a) : -error;
}

static void on_trap(int signal, siginfo_t *info, void *context) {
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  long number = info->si_syscall;
  long long a[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
  (void)signal;
  int own = 0;
  for (const int *call = trapped; *call >= 0; call++) own = own || *call == number;
  if (own && counts(number, a) && strike()) {
    r[REG_RAX] = failed(number, a);
    return;
  }
  long result = system_call(number, a);
  if (number == SYS_openat && result >= 0 && result < (long)sizeof foreign)
    foreign[result] = (unsigned char)of_system((const char *)a[1]);
  r[REG_RAX] = result;
}

typedef struct {
  const char *name;
  text_range range;
} library;

static int find_library(struct dl_phdr_info *object, size_t size, void *user) {
  library *wanted = user;
  (void)size;
  if (!strstr(object->dlpi_name, wanted->name)) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_LOAD && (object->dlpi_phdr[i].p_flags & PF_X)) {
      wanted->range.low = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
      wanted->range.high = wanted->range.low + object->dlpi_phdr[i].p_memsz;
    }
  return 1;
}

static text_range text_of(const char *name) {
  library wanted = {name, {0, 0}};
  dl_iterate_phdr(find_library, &wanted);
  return wanted.range;
}

static void refuse(const char *text) {
  fprintf(stderr, "shim: %s\n", text);
  _exit(125);
}

static void set_trap(void) {
  text_range libc = text_of("/libc.so");
  if (!libc.low || libc.low >> 32 != libc.high >> 32) refuse("libc is not where it can be watched; run again");
  struct sock_filter code[40] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(libc.low >> 32), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)libc.low, 0, 1),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)libc.high, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 8;
  const int opens[] = {SYS_openat, -1};
  const int *lists[] = {trapped, kind == FAULT_OPEN ? NULL : opens};
  for (int l = 0; l < 2; l++)
    for (const int *call = lists[l]; call && *call >= 0; call++) {
      code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)*call, 0, 1);
      code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    }
  code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
  struct sock_fprog program = {length, code};
  if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    refuse("no seccomp filter can be set here");
}

/* ---- from the environment, when main starts ---- */

static void read_wish(const char *wish) {
  char name[16] = "", word[16] = "";
  if (sscanf(wish, "%15[^:]:%lld:%15s", name, &fail_at, word) != 3) refuse("BLICA_FAULT is KIND:INDEX:ERROR");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) kind = kinds[i].kind, trapped = kinds[i].calls;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (strcmp(errors[i].name, word) == 0) error = errors[i].number;
  if (!kind || !error) refuse("BLICA_FAULT has an unknown kind or error");
}

static void open_log(const char *path) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
  void *shared = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof *count) == 0)
    shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) refuse("the log cannot be made");
  close(file);
  count = shared;
}

static int (*real_main)(int, char **, char **);

static int watched_main(int argc, char **argv, char **environment) {
  const char *wish = getenv("BLICA_FAULT"), *log = getenv("BLICA_FAULT_LOG");
  if (wish) {
    read_wish(wish);
    if (log) open_log(log);
    for (int l = 0; l < FRAGILE; l++) fragile[l] = text_of(fragile_names[l]);
    messages = text_of("/libmpi.so");
    main_thread = pthread_self();
    (void)inside_fragile(); /* loads what backtrace needs */
    if (kind != FAULT_MALLOC) set_trap();
    armed = 1;
  }
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return start(watched_main, argc, argv, init, fini, rtld_fini, stack_end);
}
