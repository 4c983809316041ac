/* Files that appear whole or not at all: no other file is touched, whatever its name, and any number of writers may
 * meet. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "files/outfile.h"
#include "scratch.h"

static char folder[40];
static _Atomic int synced; /* calls of fsync, which is here in place of the system's */

int fsync(int descriptor) {
  synced++;
  return fdatasync(descriptor);
}

static int setup(void **state) {
  (void)state;
  return make_scratch(folder) != 0 || chdir(folder) != 0;
}

static int teardown(void **state) {
  char command[100];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return chdir("/") != 0 || system(command) != 0;
}

static bool put(const char *path, const char *text) {
  bl_outfile file;
  if (!bl_outfile_open(&file, path)) return false;
  fputs(text, file.stream);
  return bl_outfile_commit(&file);
}

static void assert_holds(const char *path, const char *wanted) {
  char text[100] = "";
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  assert_string_equal(text, wanted);
}

/* How many files are in the folder. */
static int files(void) {
  FILE *list = popen("ls -A | wc -l", "r");
  int count = -1;
  assert_int_equal(fscanf(list, "%d", &count), 1);
  pclose(list);
  return count;
}

static void test_neighbours_stay(void **state) {
  (void)state;
  assert_true(put("model.json.blica-new", "the user's"));
  assert_true(put("model.json", "first"));
  assert_true(put("model.json", "second"));
  assert_holds("model.json", "second");
  assert_holds("model.json.blica-new", "the user's");
  assert_int_equal(files(), 2);
}

/* The content is on the disk before it has its name, and the name after. */
static void test_sync(void **state) {
  (void)state;
  synced = 0;
  assert_true(put("synced", "x"));
  assert_int_equal(synced, 2);
  assert_int_equal(unlink("synced"), 0);
}

static void test_long_names(void **state) {
  (void)state;
  char name[256];
  memset(name, 'n', 255);
  name[255] = 0;
  assert_true(put(name, "first"));
  assert_true(put(name, "second"));
  assert_holds(name, "second");
  assert_int_equal(unlink(name), 0);
}

static void *write_often(void *user) {
  (void)user;
  for (int i = 0; i < 100; i++)
    if (!put("shared", "whole")) return "failed";
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 8 };
  pthread_t thread[THREADS];
  int before = files();
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, write_often, NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(thread[i], &failed);
    assert_null(failed);
  }
  assert_holds("shared", "whole");
  assert_int_equal(files(), before + 1);
}

static mode_t mode_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return info.st_mode & 0777;
}

/* A new file has the mode that umask leaves, an old one keeps its own; umask is as it was. */
static void test_modes(void **state) {
  (void)state;
  umask(0027);
  assert_true(put("new", "x"));
  assert_int_equal(mode_of("new"), 0640);
  assert_int_equal(chmod("new", 0604), 0);
  assert_true(put("new", "y"));
  assert_int_equal(mode_of("new"), 0604);
  assert_int_equal(umask(0022), 0027);
}

/* A link is replaced, what it points to stays; a link to an open descriptor is written through. */
static void test_links(void **state) {
  (void)state;
  char name[40];
  assert_true(put("target", "old"));
  assert_int_equal(symlink("target", "link"), 0);
  assert_true(put("link", "new"));
  assert_holds("target", "old");
  assert_holds("link", "new");
  int open_file = open("output", O_CREAT | O_WRONLY | O_APPEND, 0666);
  assert_int_equal(write(open_file, "before ", 7), 7);
  snprintf(name, sizeof name, "/dev/fd/%d", open_file);
  assert_true(put(name, "after"));
  close(open_file);
  assert_holds("output", "before after");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_neighbours_stay), cmocka_unit_test(test_long_names), cmocka_unit_test(test_sync),
      cmocka_unit_test(test_threads),         cmocka_unit_test(test_modes),      cmocka_unit_test(test_links),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
