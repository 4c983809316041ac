/* levels_two.c - two variables and two sources, where two levels leave most open.
 *
 * Twins: with the rows of A exchanged the one correlation stays, and with two levels means make up for the changed
 * scales (Theorem 1). With more levels the distances of an item's cuts, which are common to all segments, would have
 * to change with the scale of each segment. The second model here has the cuts and means that come closest: thresholds
 * t_ls = (m_s - tau_l)/sigma_s are matched by least squares, tau'_l = -sum_s (t_ls - mean_l t_ls)/sigma'_s / sum_s
 * 1/sigma'_s^2 and m'_s = sigma'_s mean_l t_ls.
 *
 * Arrows: x1 causes x2 when one source reaches both and the other only x2. The relative scale of two rows stays free,
 * but an entry that is 0 is 0 in every scale; so the cause is the item whose signal is closest to
 * a single source. This holds only where A and all cuts are the same in all segments, as they are in these simulations:
 * it is a statement about identification and not a method (docs/identifiability.md has real data where it fails). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files/outfile.h"
#include "levels.h"

/* ---- twins ---- */

typedef struct {
  const char *name;
  double a[4], exchanged[4]; /* by column */
  double mean[TWIN_SEGMENTS][2], variance[TWIN_SEGMENTS][2], other_variance[TWIN_SEGMENTS][2];
} twin_example;

static const twin_example examples[TWIN_EXAMPLES] = {
    {.name = "rows exchanged",
     .a = {2.1, -0.6, 0.8, 1.7},
     .exchanged = {-0.6, 2.1, 1.7, 0.8},
     .mean = {{0.4, -0.3}, {-0.2, 0.5}, {0.1, 0.3}},
     .variance = {{0.5, 3}, {2, 1}, {5, 0.4}},
     .other_variance = {{0.5, 3}, {2, 1}, {5, 0.4}}},
    {.name = "arrow turned",
     .a = {1, 1.5, 0, 1},
     .exchanged = {1, 0, 1.5, 1},
     .mean = {{0.3, -0.4}, {-0.5, 0.2}, {0.2, 0.4}},
     .variance = {{1, 2}, {4, 0.5}, {2, 6}},
     .other_variance = {{2, 1}, {0.5, 4}, {6, 2}}},
};

static double sd_of(const blica_model *m, int s, int i) {
  const double *v = m->variances + 2 * s, *a = m->mixing + i;
  return sqrt(1 + m->link * (a[0] * a[0] * v[0] + a[2] * a[2] * v[1]));
}

/* Means of segment s such that the latent variables have these means. */
static void set_means(blica_model *m, int s, const double location[2]) {
  const double *a = m->mixing;
  double det = sqrt(m->link) * (a[0] * a[3] - a[2] * a[1]);
  m->means[2 * s] = (a[3] * location[0] - a[2] * location[1]) / det;
  m->means[2 * s + 1] = (a[0] * location[1] - a[1] * location[0]) / det;
}

/* The second model: cuts and means as close to the first's thresholds as they can be. */
static void come_close(const blica_model *first, blica_model *second, int levels) {
  double middle[TWIN_SEGMENTS][2] = {{0}};
  for (int i = 0; i < 2; i++) {
    double shape[MOST_SHOWN_LEVELS] = {0}, weight = 0;
    const double *cut = first->cuts + i * (levels - 1);
    for (int s = 0; s < TWIN_SEGMENTS; s++) {
      const double *mu = first->means + 2 * s, sd = sd_of(first, s, i), other = sd_of(second, s, i);
      double location = sqrt(first->link) * (first->mixing[i] * mu[0] + first->mixing[i + 2] * mu[1]), centre = 0;
      for (int l = 0; l < levels - 1; l++) centre += cut[l] / (levels - 1);
      for (int l = 0; l < levels - 1; l++) shape[l] += (centre - cut[l]) / sd / other;
      weight += 1 / (other * other);
      middle[s][i] = other * (location - centre) / sd;
    }
    for (int l = 0; l < levels - 1; l++) second->cuts[i * (levels - 1) + l] = -shape[l] / weight;
  }
  for (int s = 0; s < TWIN_SEGMENTS; s++) set_means(second, s, middle[s]);
}

/* Share of rows where the first variable is at least level a and the second at least level b; one row in all. */
static double at_least(const blica_counts *c, int s, int levels, int a, int b) {
  const double *ones = c->ones + (size_t)s * (size_t)c->n;
  if (a >= levels || b >= levels) return 0;
  if (a == 0 || b == 0) return a == 0 && b == 0 ? 1 : a == 0 ? ones[levels - 2 + b] : ones[a - 1];
  return c->n11[blica_pair(a - 1, levels - 2 + b) + s * c->pairs];
}

static blica_status probabilities(experiment *e, const blica_model *m, int levels,
                                  double p[TWIN_SEGMENTS][MOST_SHOWN_LEVELS * MOST_SHOWN_LEVELS]) {
  blica_counts *c = NULL;
  blica_status status = blica_simulate_exact(e->ctx, m, &c);
  for (int s = 0; s < TWIN_SEGMENTS && status == BLICA_OK; s++)
    for (int a = 0; a < levels; a++)
      for (int b = 0; b < levels; b++)
        p[s][a * levels + b] = at_least(c, s, levels, a, b) - at_least(c, s, levels, a + 1, b) -
                               at_least(c, s, levels, a, b + 1) + at_least(c, s, levels, a + 1, b + 1);
  blica_counts_free(c);
  return status;
}

/* A model of two variables with these levels, whose numbers are still to be set. */
static blica_status blank(experiment *e, int levels, int segments, int64_t samples, uint64_t seed, blica_model **out) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = o.sources = 2, o.segments = segments, o.levels = levels, o.samples = samples, o.seed = seed;
  return blica_simulate(e->ctx, &o, out, NULL, NULL);
}

static blica_status make_twins(experiment *e, const twin_example *x, int levels, twin_table *out) {
  blica_model *first = NULL, *second = NULL;
  blica_status status = blank(e, levels, TWIN_SEGMENTS, 1, 1, &first);
  if (status == BLICA_OK) status = blank(e, levels, TWIN_SEGMENTS, 1, 1, &second);
  if (status == BLICA_OK) {
    memcpy(first->mixing, x->a, sizeof x->a);
    memcpy(first->variances, x->variance, sizeof x->variance);
    memcpy(first->means, x->mean, sizeof x->mean);
    memcpy(second->mixing, x->exchanged, sizeof x->exchanged);
    memcpy(second->variances, x->other_variance, sizeof x->other_variance);
    for (int l = 1; l < levels; l++) first->cuts[l - 1] = first->cuts[levels - 2 + l] = 1.5 * (l - 0.5 * levels);
    come_close(first, second, levels);
    *out = (twin_table){.name = x->name, .levels = levels};
    status = probabilities(e, first, levels, out->p[0]);
  }
  if (status == BLICA_OK) status = probabilities(e, second, levels, out->p[1]);
  for (int s = 0; s < TWIN_SEGMENTS && status == BLICA_OK; s++)
    for (int c = 0; c < levels * levels; c++)
      out->difference = fmax(out->difference, fabs(out->p[0][s][c] - out->p[1][s][c]));
  blica_model_free(first);
  blica_model_free(second);
  return status;
}

/* ---- arrows ---- */

enum { ARROW_SEGMENTS = 40 };
static const int64_t arrow_samples[ARROW_SAMPLES] = {100, 1000};

/* Mean over segments of the share of item i's signal that comes from source j. */
static double signal_share(const blica_model *m, int i, int j) {
  double sum = 0;
  for (int s = 0; s < m->u; s++) {
    double part[2];
    for (int l = 0; l < 2; l++) part[l] = m->mixing[i + 2 * l] * m->mixing[i + 2 * l] * m->variances[l + 2 * s];
    sum += part[j] / (part[0] + part[1]) / m->u;
  }
  return sum;
}

/* How much of an item's signal comes from the source that it has less of: 0 of the cause. */
static double impurity(const blica_model *m, int i) {
  return fmin(signal_share(m, i, 0), signal_share(m, i, 1));
}

/* Elements of A between 1 and 3 in absolute value, but that from the other's source to the cause, which is 0; cuts as
 * frequent as they were. */
static void make_arrow(blica_model *m, int cause) {
  double before[2] = {0}, after[2] = {0};
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < 2; i++) before[i] += sd_of(m, s, i);
  for (int i = 0; i < 4; i++) m->mixing[i] = copysign(1 + fmod(fabs(m->mixing[i]), 2), m->mixing[i]);
  m->mixing[cause + 2 * (1 - cause)] = 0;
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < 2; i++) after[i] += sd_of(m, s, i);
  for (int p = 0; p < m->planes; p++) m->cuts[p] *= p < m->planes / 2 ? after[0] / before[0] : after[1] / before[1];
}

/* One data set: the first variable is the cause when the seed is odd. */
static blica_status try_arrow(experiment *e, arrow_score *score, uint64_t seed, FILE *csv) {
  blica_model *truth = NULL, *found = NULL;
  blica_data *data = NULL;
  blica_fit_options options = blica_fit_options_default();
  double share[2];
  int cause = seed % 2 ? 0 : 1;
  options.sources = 2, options.seed = seed, options.starts = e->starts;
  blica_status status = blank(e, score->levels, ARROW_SEGMENTS, score->samples, seed, &truth);
  if (status == BLICA_OK) {
    make_arrow(truth, cause);
    status = blica_simulate_rows(e->ctx, truth, seed, &data);
  }
  if (status == BLICA_OK) status = blica_fit(e->ctx, &(blica_input){.data = data}, &options, &found);
  if (status == BLICA_OK) {
    for (int i = 0; i < 2; i++) share[i] = impurity(found, i);
    bool right = share[cause] < share[1 - cause];
    score->sets++;
    score->right += right;
    fprintf(csv, "%llu,%d,%lld,%d,%.17g,%.17g,%d\n", (unsigned long long)seed, score->levels, (long long)score->samples,
            cause + 1, share[0], share[1], right);
  }
  blica_model_free(truth);
  blica_model_free(found);
  blica_data_free(data);
  return status;
}

static blica_status all_arrows(experiment *e, int sets, two_variables *out, FILE *csv) {
  blica_status status = BLICA_OK;
  fputs("seed,levels,samples,cause,share1,share2,right\n", csv);
  for (int z = 0; z < ARROW_SAMPLES; z++)
    for (int l = 0; l < SHOWN_COUNTS; l++) {
      arrow_score *score = &out->arrows[z][l];
      *score = (arrow_score){.levels = level_counts[l], .samples = arrow_samples[z]};
      for (int set = 1; set <= sets && status == BLICA_OK; set++) {
        if (e->stop()) return BLICA_ERR_INTERRUPTED;
        status = try_arrow(e, score, (uint64_t)set, csv);
        e->progress("arrows", (double)(sets * (SHOWN_COUNTS * z + l) + set) / (sets * SHOWN_COUNTS * ARROW_SAMPLES));
      }
    }
  return status;
}

static blica_status all_twins(experiment *e, two_variables *out, FILE *csv) {
  blica_status status = BLICA_OK;
  fputs("example,levels,segment,level1,level2,probability,other\n", csv);
  for (int x = 0; x < TWIN_EXAMPLES; x++)
    for (int l = 0; l < SHOWN_COUNTS && status == BLICA_OK; l++) {
      twin_table *t = &out->twins[x][l];
      const int levels = level_counts[l];
      status = make_twins(e, &examples[x], levels, t);
      for (int s = 0; s < TWIN_SEGMENTS && status == BLICA_OK; s++)
        for (int c = 0; c < levels * levels; c++)
          fprintf(csv, "%s,%d,%d,%d,%d,%.17g,%.17g\n", t->name, levels, s + 1, c / levels, c % levels, t->p[0][s][c],
                  t->p[1][s][c]);
    }
  return status;
}

/* Opens DIR/name, has it filled, and puts it in place. */
static blica_status write_part(experiment *e, const char *name, int sets, two_variables *out) {
  char path[4096];
  bl_outfile file;
  blica_status status = experiment_path(e, name, path, sizeof path);
  if (status != BLICA_OK) return status;
  if (!bl_outfile_open(&file, path))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  status = sets ? all_arrows(e, sets, out, file.stream) : all_twins(e, out, file.stream);
  if (status != BLICA_OK) {
    bl_outfile_discard(&file);
    return fail_experiment(e, status, "%s", status == BLICA_ERR_INTERRUPTED ? "interrupted" : blica_message(e->ctx));
  }
  if (!bl_outfile_commit(&file))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  return BLICA_OK;
}

blica_status levels_two_variables(experiment *e, int sets, two_variables *out) {
  blica_status status = write_part(e, "levels-twins.csv", 0, out);
  return status == BLICA_OK ? write_part(e, "levels-arrows.csv", sets, out) : status;
}
