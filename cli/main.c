/* main.c - from the command line to a command, and what is common to all of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "output.h"
#include "communicator.h"

static const command *find_command(const char *name) {
  for (int i = 0; commands[i]; i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return strcmp(command_self_doc.name, name) == 0 ? &command_self_doc : NULL;
}

static int unknown_command(const char *name) {
  const char *names[64];
  int count = 0;
  for (int i = 0; commands[i] && count < 64; i++) names[count++] = commands[i]->name;
  const char *near = nearest(name, names, count);
  if (near)
    say_error("unknown command '%s'; did you mean %s?", name, near);
  else
    say_error("unknown command '%s'; blica --help lists them", name);
  return EXIT_USAGE;
}

/* OpenBLAS asks for a buffer of 128 MB when it is first called, and asks for ever when it gets none (under a limit of
 * address space, as by ulimit -v). */
static bool enough_memory(void) {
  enum { LEAST_MB = 192 };
  void *block = malloc((size_t)LEAST_MB << 20); /* pages that are never touched */
  free(block);
  if (!block)
    say_error("out of memory: less than %d MB of address space are free; raise the limit (ulimit -v)", LEAST_MB);
  return block != NULL;
}

#ifdef __ELF__ /* the linker leaves a weak symbol NULL when no library has it */
extern int blas_thread_shutdown_(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));
#else
static int (*const blas_thread_shutdown_)(void) = NULL;
static void (*const openblas_set_num_threads)(int threads) = NULL;
static char *(*const openblas_get_corename)(void) = NULL;
#endif

/* Whether all processes were started alike: they take the same decisions because they compute the same numbers. */
static bool started_alike(program *p) {
  static const char *const level[] = {"auto", "scalar", "AVX2", "AVX-512"};
  char facts[sizeof p->given + 256];
  snprintf(facts, sizeof facts, "blica %s\ncommand %s, %d files\n%sSIMD level %s\nBLAS kernels %s\n", blica_version(),
           p->command->name, p->operand_count, p->given, level[blica_simd_level(p->ctx)],
           openblas_get_corename ? openblas_get_corename() : "unknown");
  return communicator_same(facts);
}

/* Whether the file that --out names can be written; "-" becomes the name of the standard output. */
static int check_output(program *p, void *values) {
  const char **out = args_value(p, values, "out");
  const int *json = args_value(p, values, "json");
  if (!out || !*out || list_has("simulate|experiment", p->command->name)) return EXIT_OK; /* none, or a folder */
  if (strcmp(*out, "-") == 0) *out = STANDARD_OUTPUT;
  if (json && *json && is_standard_output(*out)) {
    say_error("%s: --json and --out - both need the standard output; give --out a file", p->command->name);
    return EXIT_USAGE;
  }
  return output_possible(p, *out, p->data.segment_file) ? EXIT_OK : EXIT_DATA;
}

static int run_command(program *p, int argc, char **argv) {
  int help, code = EXIT_FAILED;
  void *values = calloc(1, p->command->values + 1);
  p->operands = calloc((size_t)argc + 1, sizeof *p->operands);
  if (!values || !p->operands) {
    say_error("out of memory");
    goto done;
  }
  code = args_parse(p, argc, argv, values, &help);
  if (code != 0) goto done;
  code = EXIT_USAGE;
  if (!started_alike(p)) goto done;
  code = EXIT_OK;
  if (help) {
    print_help(p->command, help > 1);
    goto done;
  }
  code = EXIT_FAILED;
  if (!enough_memory()) goto done;
  messages_quiet(p->quiet != 0);
  messages_attach(p->ctx);
  p->threads = communicator_threads(p->threads);
  blica_set_threads(p->ctx, p->threads);
  communicator_share(p->command->shared);
  blica_set_comm(p->ctx, communicator());
  code = p->command->shared || leads() ? check_output(p, values) : EXIT_OK;
  if (code == EXIT_OK && (p->command->shared || leads())) code = p->command->run(p, values);
  progress_clear();
  if (interrupted() && code != EXIT_OK) code = EXIT_INTERRUPTED;
done:
  blica_model_free(p->model);
  blica_data_free(p->rows);
  blica_counts_free(p->counts);
  table_labels_free(&p->labels);
  free(values);
  free(p->operands);
  return code;
}

/* A full disk or a closed pipe shows only when stdout is flushed. */
static int flush_output(int code) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  say_error("cannot write to the standard output: %s", strerror(errno));
  const bool has_result = code == EXIT_OK || code == EXIT_NOT_CONVERGED || code == EXIT_NOT_CERTIFIED;
  return has_result ? EXIT_FAILED : code;
}

static int help_on(const char *name, bool all) {
  const command *c = find_command(name);
  if (strcmp(name, "data") == 0) {
    print_data_help();
    return flush_output(EXIT_OK);
  }
  if (!c) return unknown_command(name);
  print_help(c, all);
  return flush_output(EXIT_OK);
}

/* Runs what the first word asks for: a command, help, the version or completion. Returns the exit code. */
static int run_program(int argc, char **argv) {
  if (argc < 2) {
    print_overview();
    fflush(stdout);
    return EXIT_USAGE;
  }
  const char *word = argv[1];
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0) {
    printf("blica %s\n", blica_version());
    return flush_output(EXIT_OK);
  }
  if (strcmp(word, "--complete") == 0) {
    print_candidates(argc - 2, argv + 2);
    return flush_output(EXIT_OK);
  }
  bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
  if (help && argc > 2) return help_on(argv[2], argc > 3 && strcmp(argv[3], "all") == 0);
  if (help) {
    print_overview();
    return flush_output(EXIT_OK);
  }
  json_track_memory();
  program p = {.command = find_command(word)};
  if (!p.command) return unknown_command(word);
  if (blica_ctx_create(&p.ctx) != BLICA_OK) {
    say_error("out of memory");
    return EXIT_FAILED;
  }
  int code = run_command(&p, argc - 2, argv + 2);
  blica_ctx_free(p.ctx);
  return flush_output(code);
}

/* OpenBLAS starts threads when it is loaded. They spin for a tenth of a second before they sleep, which takes time from
 * other processes. The program uses threads of its own, so these are stopped at once. */
static void end_blas_threads(void) {
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  if (blas_thread_shutdown_) blas_thread_shutdown_();
}

int main(int argc, char **argv) {
  end_blas_threads();
  communicator_begin(&argc, &argv);
  return communicator_end(run_program(argc, argv));
}
