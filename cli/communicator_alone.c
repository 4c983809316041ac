/* communicator_alone.c - a single process. */
#include <stddef.h>
#include <unistd.h>

#include "communicator.h"

void communicator_begin(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
}

void communicator_share(bool shared) {
  (void)shared;
}
const blica_comm *communicator(void) {
  return NULL;
}
bool at_terminal(void) {
  return isatty(STDOUT_FILENO) == 1;
}
bool leads(void) {
  return true;
}
bool communicator_same(const char *lines) {
  (void)lines;
  return true;
}
int communicator_threads(int wanted) {
  return wanted;
}
bool agree_on(bool here) {
  return here;
}
bool writes(void) {
  return true;
}
int communicator_end(int code) {
  return code;
}
