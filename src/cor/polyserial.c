/* polyserial.c - the correlation of a number and the normal variable behind an ordinal item.
 *
 * Two-step maximum likelihood (Olsson, Drasgow, Dorans, Psychometrika 47, 1982): with the number standardised to z and
 * the thresholds t from the margin, P(level l | z) = Phi((t_l - rho z)/r) - Phi((t_(l-1) - rho z)/r), r^2 = 1 - rho^2,
 * is maximised over rho by scoring steps inside a bracket. The standard error is that of the influences of rows, of
 * their scores and of what they change of thresholds, mean and deviation. Checked against an
 * optimiser and the spread of simulated estimates in tests/python/test_correlations.py, and lavaan in
 * tests/parity/acm.sh. */
#include <float.h>
#include <math.h>

#include "base/base.h"
#include "data/coding.h"
#include "num/normal/normal.h"

static const double MOST = 0.9999;

typedef struct {
  int64_t rows;
  int levels;
  double *z; /* [rows] */
  int8_t *level;
  double share[BL_MOST_LEVELS];      /* of the levels */
  double cut[BL_MOST_LEVELS + 1];    /* below level l, from -infinity to infinity */
  double by_cut[BL_MOST_LEVELS + 1]; /* mean score times d log P / d cut */
  double by_mean, by_deviation;      /* the same for the mean and the standard deviation of z */
  double score, information;         /* means of the score and of its square */
} polyserial;

/* d end / d rho over d end / d cut, of an end (cut - rho z)/r of a level. */
static double end_slope(double cut, double z, double rho) {
  return isinf(cut) ? 0 : (cut * rho - z) / (1 - rho * rho);
}

/* The score of a row; at_low and at_high: d log P by the cuts below and above its level. */
static double row_score(const polyserial *p, int64_t r, double rho, double *at_low, double *at_high) {
  const double root = sqrt((1 - rho) * (1 + rho)), z = p->z[r];
  const double low = p->cut[p->level[r]], high = p->cut[p->level[r] + 1];
  const double a = (low - rho * z) / root, b = (high - rho * z) / root;
  const double mass = fmax(a > 0 ? bl_phi_cdf(-a) - bl_phi_cdf(-b) : bl_phi_cdf(b) - bl_phi_cdf(a), DBL_MIN);
  *at_low = isinf(a) ? 0 : -bl_phi_density(a) / (root * mass);
  *at_high = isinf(b) ? 0 : bl_phi_density(b) / (root * mass);
  return *at_low * end_slope(low, z, rho) + *at_high * end_slope(high, z, rho);
}

static void add_scores(polyserial *p, double rho) {
  double low, high;
  p->score = p->information = p->by_mean = p->by_deviation = 0;
  for (int l = 0; l <= p->levels; l++) p->by_cut[l] = 0;
  for (int64_t r = 0; r < p->rows; r++) {
    const double score = row_score(p, r, rho, &low, &high), by_z = -rho * (low + high);
    p->score += score / (double)p->rows, p->information += score * score / (double)p->rows;
    p->by_cut[p->level[r]] += score * low / (double)p->rows;
    p->by_cut[p->level[r] + 1] += score * high / (double)p->rows;
    p->by_mean -= score * by_z / (double)p->rows, p->by_deviation -= score * by_z * p->z[r] / (double)p->rows;
  }
}

/* Fisher scoring from 0 with bisection where a step leaves the bracket; returns the correlation. */
static double maximise(polyserial *p) {
  double low = -MOST, high = MOST, rho = 0;
  for (int step = 0; step < 100 && high - low > 1e-13; step++) {
    add_scores(p, rho);
    if (p->score > 0)
      low = rho;
    else
      high = rho;
    double next = rho + p->score / p->information;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (fabs(next - rho) < 1e-12) return next;
    rho = next;
  }
  return rho;
}

/* The standard error of rho. Call it right after maximise, whose last information it uses. */
static double standard_error(const polyserial *p, double rho) {
  double squares = 0, low, high;
  for (int64_t r = 0; r < p->rows; r++) {
    const double z = p->z[r];
    double add = row_score(p, r, rho, &low, &high) - p->by_mean * z - p->by_deviation * (z * z - 1) / 2, below = 0;
    for (int l = 1; l < p->levels; l++) {
      below += p->share[l - 1];
      add -= p->by_cut[l] * ((p->level[r] < l) - below) / bl_phi_density(p->cut[l]);
    }
    squares += add * add;
  }
  return sqrt(squares) / p->information / (double)p->rows;
}

/* Standardises the numbers, and takes thresholds from the shares of levels. */
static blica_status standardise(blica_ctx *ctx, polyserial *p) {
  double mean = 0, square = 0, below = 0;
  for (int64_t r = 0; r < p->rows; r++) mean += p->z[r] / (double)p->rows;
  for (int64_t r = 0; r < p->rows; r++) square += (p->z[r] - mean) * (p->z[r] - mean) / (double)p->rows;
  if (!(square > 0 && isfinite(square)))
    return bl_fail(ctx, BLICA_ERR_DATA, "the number has variance %g over %lld rows; it has no correlation", square,
                   (long long)p->rows);
  for (int64_t r = 0; r < p->rows; r++) p->z[r] = (p->z[r] - mean) / sqrt(square);
  for (int l = 0; l < p->levels; l++) {
    if (!(p->share[l] > 0))
      return bl_fail(ctx, BLICA_ERR_DATA, "no row is at level %d of %d; leave that level out", l + 1, p->levels);
    p->cut[l] = bl_phi_quantile(below);
    below += p->share[l];
  }
  p->cut[0] = -INFINITY, p->cut[p->levels] = INFINITY;
  return BLICA_OK;
}

blica_status blica_polyserial(blica_ctx *ctx, int64_t rows, const double *number, int levels, const int8_t *level,
                              double *rho, double *se, double *threshold) {
  BL_NEED(ctx, number, level, rho);
  BL_OWNED polyserial *p = NULL;
  if (levels < 2 || levels > BL_MOST_LEVELS)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d levels; from 2 to %d can be used", levels, BL_MOST_LEVELS);
  if (rows < 2) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%lld rows; at least 2 are needed", (long long)rows);
  MUST(bl_alloc(ctx, 1, &p));
  MUST(bl_alloc_for(ctx, p, (size_t)rows, &p->z));
  MUST(bl_alloc_for(ctx, p, (size_t)rows, &p->level));
  p->levels = levels;
  for (int64_t r = 0; r < rows; r++) {
    if (level[r] != BLICA_MISSING && (level[r] < 0 || level[r] >= levels))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "row %lld: level %d; levels are 0 to %d, or -1 for missing",
                     (long long)r + 1, level[r], levels - 1);
    if (level[r] == BLICA_MISSING || isnan(number[r])) continue;
    p->z[p->rows] = number[r], p->level[p->rows++] = level[r], p->share[level[r]]++;
  }
  for (int l = 0; l < levels; l++) p->share[l] /= (double)p->rows;
  MUST(standardise(ctx, p));
  *rho = maximise(p);
  add_scores(p, *rho);
  if (se) *se = standard_error(p, *rho);
  for (int l = 1; threshold && l < levels; l++) threshold[l - 1] = p->cut[l];
  return BLICA_OK;
}
