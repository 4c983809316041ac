/* runs.c - a queue of fits served by threads; each finished row is appended to the CSV at once, and at the end the
 * file is put in order. Every fit has its own context with one thread, so results do not depend on how many there are.
 * Processes take every so manieth run; rows of those that do not write reach the CSV when all have ended. */
#include "runs.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "files/outfile.h"
#include "runs_csv.h"

blica_status runs_add(experiment *e, runs *r, const run *what) {
  if (r->count == r->capacity) {
    int capacity = r->capacity ? 2 * r->capacity : 256;
    run *more = realloc(r->list, (size_t)capacity * sizeof *more);
    if (!more) return fail_experiment(e, BLICA_ERR_MEMORY, "out of memory");
    r->list = more;
    r->capacity = capacity;
  }
  r->list[r->count++] = *what;
  return BLICA_OK;
}

void runs_free(runs *r) {
  free(r->list);
  *r = (runs){0};
}

static bool same_number(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

bool same_run_but_seed(const run *a, const run *b) {
  return a->n == b->n && a->k == b->k && a->u == b->u && a->samples == b->samples && a->levels == b->levels &&
         a->starts == b->starts && same_number(a->condition, b->condition) && strcmp(a->method, b->method) == 0;
}

static bool same_run(const run *a, const run *b) {
  return a->seed == b->seed && same_run_but_seed(a, b);
}

int runs_select(const runs *r, const run *like, run_value value, double *out) {
  int count = 0;
  for (int i = 0; i < r->count; i++)
    if (r->list[i].done && same_run_but_seed(&r->list[i], like)) out[count++] = value(&r->list[i]);
  return count;
}

/* ---- one run ---- */

/* Mean over matched columns of 1 - |cos|, as half the squared distance of the unit vectors: exact where 1 - |cos|
 * itself would be rounding. */
static double matched_error(int n, int k, const double *a, const double *b, const int *matching, const double *cosine) {
  double sum = 0;
  for (int j = 0; j < k; j++) {
    const double *x = a + (size_t)j * (size_t)n, *y = b + (size_t)matching[j] * (size_t)n;
    double xx = 0, yy = 0, dd = 0;
    for (int i = 0; i < n; i++) {
      xx += x[i] * x[i];
      yy += y[i] * y[i];
    }
    double fx = 1 / sqrt(xx), fy = (cosine[j] < 0 ? -1 : 1) / sqrt(yy);
    for (int i = 0; i < n; i++) {
      double d = fx * x[i] - fy * y[i];
      dd += d * d;
    }
    sum += dd / 2;
  }
  return sum / k;
}

static blica_status compare(blica_ctx *ctx, run *r, const double *truth, const double *found) {
  int *matching = malloc((size_t)r->k * sizeof *matching);
  double *cosine = malloc((size_t)r->k * sizeof *cosine);
  blica_status status = BLICA_ERR_MEMORY;
  if (matching && cosine) status = blica_compare(ctx, r->n, r->k, truth, found, &r->mcs, matching, cosine);
  if (status == BLICA_OK) r->error = matched_error(r->n, r->k, truth, found, matching, cosine);
  free(matching);
  free(cosine);
  return status;
}

static blica_status score(blica_ctx *ctx, run *r, const blica_model *truth, const blica_model *found) {
  blica_status status = compare(ctx, r, truth->mixing, found->mixing);
  if (status != BLICA_OK) return status;
  const blica_fit_report *fit = &found->fit;
  r->objective = fit->objective;
  r->best_start = fit->best_start;
  r->iterations = fit->iterations;
  r->seconds = fit->seconds;
  r->seconds_count = fit->seconds_count;
  r->seconds_correlate = fit->seconds_correlate;
  r->seconds_regularise = fit->seconds_regularise;
  r->seconds_optimise = fit->seconds_optimise;
  r->seconds_near = fit->n_starts ? fit->starts[fit->best_start].seconds_near : NAN;
  snprintf(r->stop, sizeof r->stop, "%s", blica_stop_name(fit->stop));
  return BLICA_OK;
}

static blica_status do_run(blica_ctx *ctx, double max_seconds, run *r) {
  blica_simulate_options how = blica_simulate_options_default();
  blica_fit_options fit = blica_fit_options_default();
  blica_model *truth = NULL, *found = NULL;
  blica_data *data = NULL;
  blica_counts *counts = NULL;
  how.variables = r->n;
  how.sources = fit.sources = r->k;
  how.segments = r->u;
  how.seed = fit.seed = r->seed;
  how.levels = r->levels;
  how.exact = r->samples == 0;
  if (how.exact) fit.prior = BLICA_PRIOR_NONE;
  if (how.exact && r->levels > 2) fit.tolerance = 1e-13; /* as far as Newton steps take methods for two levels */
  if (r->samples) how.samples = r->samples;
  fit.method = blica_method_find(r->method);
  fit.condition = r->condition;
  fit.starts = r->starts;
  fit.max_seconds = max_seconds;
  blica_status status = blica_simulate(ctx, &how, &truth, &data, &counts);
  if (status == BLICA_OK) {
    blica_input input = {.data = data, .counts = counts};
    status = blica_fit(ctx, &input, &fit, &found);
  }
  if (status == BLICA_OK) status = score(ctx, r, truth, found);
  if (status == BLICA_OK && found->fit.stop == BLICA_STOP_INTERRUPTED) status = BLICA_ERR_INTERRUPTED;
  r->done = status == BLICA_OK;
  blica_model_free(truth);
  blica_model_free(found);
  blica_data_free(data);
  blica_counts_free(counts);
  return status;
}

/* ---- all runs ---- */

typedef struct {
  experiment *e;
  runs *r;
  FILE *csv;
  const char *path; /* of the CSV */
  long whole;       /* its length up to the last whole row; -1: unknown */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int next, finished, wanted, failed, working;
  blica_status status;                /* what must end everything */
  char complaint[EXPERIMENT_MESSAGE]; /* of the first run that failed */
} queue;

static int poll_stop(const blica_progress *p, void *user) {
  (void)p;
  return ((const experiment *)user)->stop();
}

/* A row must reach the file in one piece, else a kill could leave half of it in the middle. */
static void record(queue *q, const run *r) {
  if (!q->csv) return; /* another process writes */
  runs_csv_row(q->csv, r);
  if (fflush(q->csv) == 0)
    q->whole = ftell(q->csv);
  else if (q->status == BLICA_OK)
    q->status = fail_experiment(q->e, BLICA_ERR_IO, "cannot write '%s': %s", q->path, strerror(errno));
}

static void settle(queue *q, blica_ctx *ctx, run *r, blica_status status) {
  pthread_mutex_lock(&q->lock);
  q->finished++;
  if (status == BLICA_OK) {
    record(q, r);
  } else if (status == BLICA_ERR_MEMORY) {
    if (q->status == BLICA_OK)
      q->status = fail_experiment(q->e, status, "out of memory: method %s at n=%d, k=%d", r->method, r->n, r->k);
  } else if (status != BLICA_ERR_INTERRUPTED) {
    if (q->failed++ == 0)
      snprintf(q->complaint, sizeof q->complaint, "method %s at n=%d, k=%d, N=%lld, seed %llu: %.700s", r->method, r->n,
               r->k, (long long)r->samples, (unsigned long long)r->seed, blica_message(ctx));
  }
  pthread_cond_signal(&q->changed);
  pthread_mutex_unlock(&q->lock);
}

static int rank_of(const experiment *e) {
  return e->comm ? e->comm->rank : 0;
}
static int size_of(const experiment *e) {
  return e->comm ? e->comm->size : 1;
}

static run *take(queue *q) {
  run *r = NULL;
  pthread_mutex_lock(&q->lock);
  while (q->next < q->r->count && (q->r->list[q->next].done || q->r->list[q->next].owner != rank_of(q->e))) q->next++;
  if (q->next < q->r->count && q->status == BLICA_OK && !q->e->stop()) r = &q->r->list[q->next++];
  if (!r) {
    q->working--;
    pthread_cond_signal(&q->changed);
  }
  pthread_mutex_unlock(&q->lock);
  return r;
}

static void *serve(void *user) {
  queue *q = user;
  blica_ctx *ctx = NULL;
  bool ready = blica_ctx_create(&ctx) == BLICA_OK;
  if (ready) {
    blica_set_threads(ctx, 1);
    blica_set_poll(ctx, poll_stop, q->e);
  }
  for (run *r; (r = take(q));) settle(q, ctx, r, ready ? do_run(ctx, q->e->max_seconds, r) : BLICA_ERR_MEMORY);
  blica_ctx_free(ctx);
  return NULL;
}

/* The main thread shows how far things are, five times a second. */
static void show_progress(queue *q) {
  pthread_mutex_lock(&q->lock);
  while (q->working > 0) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000000;
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      until.tv_sec++;
    }
    pthread_cond_timedwait(&q->changed, &q->lock, &until);
    q->e->progress("runs", q->wanted ? (double)q->finished / q->wanted : 1);
  }
  pthread_mutex_unlock(&q->lock);
}

static blica_status work(experiment *e, runs *r, FILE *csv, const char *path, long *whole, int wanted) {
  queue q = {.e = e,
             .r = r,
             .csv = csv,
             .path = path,
             .whole = -1,
             .wanted = wanted,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER};
  enum { MOST_THREADS = 512 };
  pthread_t thread[MOST_THREADS];
  int threads = e->threads < wanted ? e->threads : wanted, started = 0;
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  q.working = threads;
  for (; started < threads; started++)
    if (pthread_create(&thread[started], NULL, serve, &q) != 0) break;
  pthread_mutex_lock(&q.lock);
  q.working -= threads - started;
  pthread_mutex_unlock(&q.lock);
  if (started == 0 && threads > 0) return fail_experiment(e, BLICA_ERR_MEMORY, "no thread could be started");
  show_progress(&q);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  if (q.failed) {
    char text[EXPERIMENT_MESSAGE + 64];
    snprintf(text, sizeof text, "%d runs failed and are left out; the first: %s", q.failed, q.complaint);
    e->note(text);
  }
  *whole = q.whole;
  if (q.status != BLICA_OK) return q.status;
  return e->stop() ? fail_experiment(e, BLICA_ERR_INTERRUPTED, "interrupted; the same command goes on from here")
                   : BLICA_OK;
}

/* ---- the file ---- */

static blica_status rewrite(experiment *e, const runs *r, const runs *old, const char *path) {
  bl_outfile file;
  if (!bl_outfile_open(&file, path))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  runs_csv_header(file.stream);
  for (int i = 0; i < r->count; i++)
    if (r->list[i].done) runs_csv_row(file.stream, &r->list[i]);
  for (int i = 0; i < old->count; i++)
    if (old->list[i].done) runs_csv_row(file.stream, &old->list[i]);
  if (!bl_outfile_commit(&file))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  return BLICA_OK;
}

/* Takes over what is known; what is left in old is marked as done there, and nothing else. */
static void adopt(runs *r, runs *old) {
  for (int i = 0; i < r->count; i++) {
    for (int j = 0; j < old->count && !r->list[i].done; j++)
      if (old->list[j].done && same_run(&r->list[i], &old->list[j])) {
        r->list[i] = old->list[j];
        old->list[j].done = false;
      }
  }
}

/* ---- processes ---- */

static blica_status broadcast(experiment *e, void *bytes, size_t count, int root) {
  if (!e->comm || count == 0 || e->comm->broadcast(bytes, count, root, e->comm->user) == 0) return BLICA_OK;
  return fail_experiment(e, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
}

/* What the first process says of its status; then its list, and whose turn each run is. Returns how many are this
 * process's. */
static blica_status share_out(experiment *e, runs *r, blica_status status, int *own) {
  int word = (int)status, next = 0;
  *own = 0;
  blica_status lost = broadcast(e, &word, sizeof word, 0);
  if (lost != BLICA_OK || word != BLICA_OK) return lost != BLICA_OK ? lost : (blica_status)word;
  lost = broadcast(e, r->list, (size_t)r->count * sizeof *r->list, 0);
  for (int i = 0; i < r->count; i++) {
    if (r->list[i].done) continue;
    r->list[i].owner = next++ % size_of(e);
    *own += r->list[i].owner == rank_of(e);
  }
  return lost;
}

/* Everybody's finished runs, and the first failure that must end everything. */
static blica_status bring_together(experiment *e, runs *r, blica_status status) {
  run *other = malloc(((size_t)r->count + 1) * sizeof *other);
  struct {
    int status;
    char message[EXPERIMENT_MESSAGE];
  } note;
  if (!other) return fail_experiment(e, BLICA_ERR_MEMORY, "out of memory");
  for (int p = 0; p < size_of(e); p++) {
    note.status = (int)status;
    memcpy(note.message, e->message, sizeof note.message);
    memcpy(other, r->list, (size_t)r->count * sizeof *other);
    blica_status lost = broadcast(e, &note, sizeof note, p);
    if (lost == BLICA_OK) lost = broadcast(e, other, (size_t)r->count * sizeof *other, p);
    if (lost != BLICA_OK) note.status = (int)lost;
    for (int i = 0; lost == BLICA_OK && i < r->count; i++)
      if (other[i].done && other[i].owner == p) r->list[i] = other[i];
    if (status == BLICA_OK && note.status != BLICA_OK) {
      status = (blica_status)note.status;
      memcpy(e->message, note.message, sizeof e->message);
    }
  }
  free(other);
  return status;
}

/* ---- all of it ---- */

/* What the file already holds. */
static blica_status resume(experiment *e, runs *r, runs *old, const char *path, FILE **csv) {
  long whole;
  blica_status status = runs_csv_load(e, path, old, &whole);
  if (status != BLICA_OK) return status;
  adopt(r, old);
  if (e->draw_only) return BLICA_OK;
  if ((status = rewrite(e, r, old, path)) != BLICA_OK) return status; /* also drops half a last line */
  *csv = fopen(path, "a");
  return *csv ? BLICA_OK : fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
}

blica_status runs_do(experiment *e, runs *r, const char *name) {
  char path[4096];
  runs old = {0};
  FILE *csv = NULL;
  long whole = -1;
  int own;
  blica_status status = experiment_path(e, name, path, sizeof path);
  if (status == BLICA_OK && rank_of(e) == 0) status = resume(e, r, &old, path, &csv);
  status = share_out(e, r, status, &own);
  if (status == BLICA_OK && !e->draw_only) {
    status = bring_together(e, r, work(e, r, csv, path, &whole, own));
    if (csv && fclose(csv) != 0 && status == BLICA_OK)
      status = fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    csv = NULL;
    if (status == BLICA_ERR_IO && whole >= 0) (void)!truncate(path, whole); /* half a row, when the disk is full */
    if (rank_of(e) == 0) {
      blica_status written = rewrite(e, r, &old, path);
      if (status == BLICA_OK) status = written;
    }
  }
  if (csv) fclose(csv);
  runs_free(&old);
  return status;
}
