/* commands.c - the table of commands, and the exit code of a failure in any of them. */
#include "program.h"

#define ROW(name) &command_##name,
const command *const commands[] = {EACH_COMMAND(ROW) NULL};
#undef ROW

int fail_table(blica_status status, const char *message) {
  say_error("%s", message);
  switch (status) {
  case BLICA_ERR_ARGUMENT:
    return EXIT_USAGE;
  case BLICA_ERR_DATA:
  case BLICA_ERR_IO:
  case BLICA_ERR_FORMAT:
    return EXIT_DATA;
  case BLICA_ERR_INTERRUPTED:
    return EXIT_INTERRUPTED;
  default:
    return EXIT_FAILED;
  }
}

int fail_reading(program *p, blica_status status) {
  return fail_table(status, blica_message(p->ctx));
}

int fail_writing(program *p, blica_status status) {
  int code = fail_reading(p, status);
  return status == BLICA_ERR_IO ? EXIT_FAILED : code;
}
