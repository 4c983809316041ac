/* unload.c - a program that loads libblica, fits with several threads, unloads it and lives on: three times.
 * Usage: unload libblica.so. It is not linked with the library nor with anything that the library needs, so that
 * unloading could take away code in which threads still wait. */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include <blica.h>

/* Sets the function pointer at `to`; 0 when the library has no such function. */
static int find(void *library, const char *name, void *to) {
  *(void **)to = dlsym(library, name);
  if (!*(void **)to) printf("FAIL: %s\n", dlerror());
  return *(void **)to != NULL;
}

#define FIND(name) find(library, #name, &own.name)

/* Loads the library, draws and fits with four threads, and unloads it. */
static int use(const char *path) {
  struct {
    blica_status (*blica_ctx_create)(blica_ctx **);
    void (*blica_set_threads)(blica_ctx *, int);
    blica_status (*blica_simulate)(blica_ctx *, const blica_simulate_options *, blica_model **, blica_data **,
                                   blica_counts **);
    blica_status (*blica_fit)(blica_ctx *, const blica_input *, const blica_fit_options *, blica_model **);
    void (*blica_simulate_options_init)(blica_simulate_options *, size_t);
    void (*blica_fit_options_init)(blica_fit_options *, size_t);
    void (*blica_data_free)(blica_data *);
    void (*blica_model_free)(blica_model *);
    void (*blica_ctx_free)(blica_ctx *);
  } own;
  blica_ctx *ctx = NULL;
  blica_data *data = NULL;
  blica_model *model = NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) printf("FAIL: %s\n", dlerror());
  if (!library || !FIND(blica_ctx_create) || !FIND(blica_set_threads) || !FIND(blica_simulate) || !FIND(blica_fit) ||
      !FIND(blica_simulate_options_init) || !FIND(blica_fit_options_init) || !FIND(blica_data_free) ||
      !FIND(blica_model_free) || !FIND(blica_ctx_free) || own.blica_ctx_create(&ctx) != BLICA_OK)
    return 0;
  own.blica_set_threads(ctx, 4);
  blica_simulate_options how;
  own.blica_simulate_options_init(&how, sizeof how);
  how.variables = how.segments = 8;
  how.sources = 2;
  how.samples = 200;
  blica_fit_options options;
  own.blica_fit_options_init(&options, sizeof options);
  options.sources = 2;
  int good = own.blica_simulate(ctx, &how, NULL, &data, NULL) == BLICA_OK &&
             own.blica_fit(ctx, &(blica_input){.data = data}, &options, &model) == BLICA_OK;
  own.blica_model_free(model);
  own.blica_data_free(data);
  own.blica_ctx_free(ctx);
  if (!good) puts("FAIL: the fit failed");
  return dlclose(library) == 0 && good;
}

int main(int count, char **arguments) {
  for (int i = 0; i < 3; i++) {
    if (count != 2 || !use(arguments[1])) return 1;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* for threads to wake up where the library was */
  }
  puts("unloaded three times");
  return 0;
}
