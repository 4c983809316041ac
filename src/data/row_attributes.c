/* row_attributes.c - what is known of rows beside their values: sampling weights, their replicates, clusters and
 * strata.
 *
 * Weights are scaled within each segment to add up to Kish's effective number of rows, (sum w)^2 / sum w^2 (Kish,
 * Survey Sampling, 1965): weighted counts then weigh as much as that many rows. They are rounded to multiples of 2^-24.
 * Weights that are equal within each segment are the same as none, and so are clusters of single rows and strata of
 * whole segments; none of them is kept. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "data/pack.h"

enum { UNIT = 1 << 24 }; /* weights are whole multiples of 1 / UNIT, so that their sums are exact */

blica_status bl_row_places(blica_ctx *ctx, const blica_data *data, int64_t **out) {
  BL_OWNED int64_t *next = NULL;
  int64_t at = 0;
  MUST(bl_alloc(ctx, (size_t)data->u, &next));
  MUST(bl_alloc(ctx, (size_t)data->rows, out));
  for (int s = 0; s < data->u; at += data->samples[s++]) next[s] = at;
  for (int64_t row = 0; row < data->rows; row++) (*out)[row] = next[data->row_segment[row]]++;
  return BLICA_OK;
}

/* Scales the weights of one segment; whether they differ. */
static bool scale_weights(int64_t rows, double *w) {
  double sum = 0, squares = 0, low = w[0], high = w[0];
  for (int64_t r = 0; r < rows; r++) low = fmin(low, w[r]), high = fmax(high, w[r]);
  for (int64_t r = 0; r < rows; r++) {
    w[r] = low == high ? 1 : w[r] / high;
    sum += w[r], squares += w[r] * w[r];
  }
  for (int64_t r = 0; r < rows && low != high; r++) w[r] = fmax(nearbyint(w[r] * (sum / squares) * UNIT), 1) / UNIT;
  return low != high;
}

blica_status blica_data_set_weights(blica_ctx *ctx, blica_data *data, const double *weight) {
  BL_NEED(ctx, data, weight);
  BL_OWNED int64_t *place = NULL;
  BL_OWNED double *scaled = NULL;
  bool differ = false;
  for (int64_t r = 0; r < data->rows; r++)
    if (!(weight[r] > 0 && weight[r] < INFINITY))
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "row %lld: its weight is %g, and weights must be positive numbers; leave out rows that shall not "
                     "count",
                     (long long)r + 1, weight[r]);
  MUST(bl_row_places(ctx, data, &place));
  MUST(bl_alloc(ctx, (size_t)data->rows, &scaled));
  for (int64_t r = 0; r < data->rows; r++) scaled[place[r]] = weight[r];
  for (int64_t s = 0, first = 0; s < data->u; first += data->samples[s++])
    if (data->samples[s] > 0) differ |= scale_weights(data->samples[s], scaled + first);
  bl_free(data->weight);
  data->weight = differ ? bl_take(&scaled) : NULL;
  return BLICA_OK;
}

/* ---- replicate weights ---- */

static blica_status unknown_method(blica_ctx *ctx, const char *method) {
  return bl_fail(
      ctx, BLICA_ERR_ARGUMENT,
      "the method of the replicate weights is '%.100s'; give jk1, brr, fay=RHO with RHO from 0 to below 1, or "
      "the factors themselves, one number or one for each replicate, separated by commas",
      method);
}

/* factor [count] <- numbers separated by commas, one for all or one for each. */
static blica_status read_factors(blica_ctx *ctx, const char *method, int count, double *factor) {
  int given = 0;
  for (const char *at = method, *end; at; at = *end ? end + 1 : NULL) {
    char *stop;
    const double value = bl_strtod(at, &stop);
    end = stop;
    if (end == at || (*end && *end != ',') || !(value >= 0 && value < INFINITY)) return unknown_method(ctx, method);
    if (given < count) factor[given] = value;
    given++;
  }
  if (given != 1 && given != count)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "the method of the replicate weights has %d factors, and there are %d replicates; give one for all "
                   "or one for each",
                   given, count);
  for (int r = given; r < count; r++) factor[r] = factor[0];
  return BLICA_OK;
}

static blica_status find_factors(blica_ctx *ctx, const char *method, int count, double *factor) {
  double one = 1.0 / count;
  if (strcmp(method, "jk1") == 0) {
    one = (count - 1.0) / count;
  } else if (strncmp(method, "fay=", 4) == 0) {
    char *end;
    const double rho = bl_strtod(method + 4, &end);
    if (end == method + 4 || *end || !(rho >= 0 && rho < 1)) return unknown_method(ctx, method);
    one /= (1 - rho) * (1 - rho);
  } else if (strcmp(method, "brr") != 0) {
    return read_factors(ctx, method, count, factor);
  }
  for (int r = 0; r < count; r++) factor[r] = one;
  return BLICA_OK;
}

/* to [rows] <- one replicate by segment, times the factor by which each segment's weights were scaled. */
static blica_status take_replicate(blica_ctx *ctx, const blica_data *data, const int64_t *place, const double *scale,
                                   int r, const double *from, double *to) {
  for (int64_t row = 0; row < data->rows; row++) {
    if (!(from[row] >= 0 && from[row] < INFINITY))
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "row %lld: its weight in replicate %d is %g, and replicate weights are numbers of at least 0",
                     (long long)row + 1, r + 1, from[row]);
    to[place[row]] = nearbyint(from[row] * scale[data->row_segment[row]] * UNIT) / UNIT;
  }
  for (int64_t s = 0, at = 0; s < data->u; at += data->samples[s++]) {
    double sum = 0;
    for (int64_t row = 0; row < data->samples[s]; row++) sum += to[at + row];
    if (data->samples[s] > 0 && !(sum > 0))
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "replicate %d gives all rows of segment '%s' weight 0, so that nothing can be fitted to it; take "
                     "larger segments",
                     r + 1, data->segments[s]);
  }
  return BLICA_OK;
}

blica_status blica_data_set_replicates(blica_ctx *ctx, blica_data *data, const double *weight, int count,
                                       const double *replicate, const char *method) {
  BL_NEED(ctx, data, weight, replicate, method);
  BL_OWNED int64_t *place = NULL;
  BL_OWNED double *scale = NULL, *scaled = NULL, *factor = NULL;
  if (count < 2)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d replicate weight%s: errors need at least two", count,
                   count == 1 ? "" : "s");
  MUST(bl_alloc(ctx, (size_t)count, &factor));
  MUST(find_factors(ctx, method, count, factor));
  MUST(blica_data_set_weights(ctx, data, weight));
  MUST(bl_row_places(ctx, data, &place));
  MUST(bl_alloc(ctx, (size_t)data->u, &scale));
  MUST(bl_alloc(ctx, bl_mul((size_t)data->rows, (size_t)count), &scaled));
  for (int64_t r = 0; r < data->rows; r++) scale[data->row_segment[r]] += weight[r];
  for (int s = 0; s < data->u; s++) scale[s] = bl_data_rows(data, s) / scale[s];
  for (int r = 0; r < count; r++) {
    const size_t at = (size_t)data->rows * (size_t)r;
    MUST(take_replicate(ctx, data, place, scale, r, replicate + at, scaled + at));
  }
  bl_free(data->replicate);
  bl_free(data->replicate_factor);
  data->replicates = count, data->replicate = bl_take(&scaled), data->replicate_factor = bl_take(&factor);
  return BLICA_OK;
}

/* ---- who knows of them ---- */

blica_status bl_data_plain(blica_ctx *ctx, const blica_data *data, const char *who, bool clusters) {
  if (!data->weight && !(clusters && (data->cluster || data->stratum))) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%s does not know %s of rows; leave them out", who,
                 data->weight    ? "weights"
                 : data->cluster ? "clusters"
                                 : "strata");
}

const double *bl_data_weights(const blica_data *data, int s) {
  const double *weight = data->weight;
  for (int t = 0; weight && t < s; t++) weight += data->samples[t];
  return weight;
}

double bl_data_rows(const blica_data *data, int s) {
  const double *weight = bl_data_weights(data, s);
  double sum = 0;
  if (!weight) return (double)data->samples[s];
  for (int64_t r = 0; r < data->samples[s]; r++) sum += weight[r];
  return sum;
}

blica_status blica_data_set_clusters(blica_ctx *ctx, blica_data *data, const int32_t *cluster) {
  BL_NEED(ctx, data, cluster);
  if (data->stratum)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "clusters are given after strata, which they must lie in; give them before");
  BL_OWNED int64_t *place = NULL, *first = NULL;
  BL_OWNED int32_t *number = NULL, *sorted = NULL;
  int32_t count = 0;
  MUST(bl_row_places(ctx, data, &place));
  MUST(bl_alloc(ctx, (size_t)data->rows, &first)); /* [id] one more than its first row */
  MUST(bl_alloc(ctx, (size_t)data->rows, &sorted));
  for (int64_t r = 0; r < data->rows; r++) {
    const int32_t id = cluster[r];
    if (id < 0 || id >= data->rows)
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "row %lld: cluster id %d is not between 0 and %lld", (long long)r + 1, id,
                     (long long)data->rows - 1);
    if (first[id] == 0) first[id] = r + 1;
    const int s = data->row_segment[r], t = data->row_segment[first[id] - 1];
    if (s != t)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "rows %lld and %lld are of one cluster but of the segments '%s' and '%s'; a cluster must lie in "
                     "one segment: split it by segment, or give clusters that do not cross segments",
                     (long long)first[id], (long long)r + 1, data->segments[t], data->segments[s]);
    sorted[place[r]] = id;
  }
  MUST(bl_alloc(ctx, (size_t)data->rows, &number)); /* [id] one more than its number in order of appearance */
  for (int64_t r = 0; r < data->rows; r++) {
    if (number[sorted[r]] == 0) number[sorted[r]] = ++count;
    sorted[r] = number[sorted[r]] - 1;
  }
  bl_free(data->cluster);
  data->cluster = count < data->rows ? bl_take(&sorted) : NULL;
  return BLICA_OK;
}

blica_status blica_data_set_strata(blica_ctx *ctx, blica_data *data, const int32_t *stratum) {
  BL_NEED(ctx, data, stratum);
  BL_OWNED int64_t *place = NULL, *first = NULL;
  BL_OWNED int32_t *sorted = NULL;
  bool several = false;
  MUST(bl_row_places(ctx, data, &place));
  MUST(bl_alloc(ctx, (size_t)data->rows, &first)); /* [cluster] one more than its first row */
  MUST(bl_alloc(ctx, (size_t)data->rows, &sorted));
  for (int64_t r = 0; r < data->rows; r++) {
    int64_t *one = &first[data->cluster ? data->cluster[place[r]] : r];
    if (*one == 0) *one = r + 1;
    if (stratum[r] != stratum[*one - 1])
      return bl_fail(
          ctx, BLICA_ERR_DATA,
          "rows %lld and %lld are of one cluster but of different strata; a cluster must lie in one stratum: "
          "number clusters anew in each stratum, or give the clusters that were drawn",
          (long long)*one, (long long)r + 1);
    sorted[place[r]] = stratum[r];
  }
  for (int64_t s = 0, at = 0; s < data->u; at += data->samples[s++])
    for (int64_t r = 1; r < data->samples[s]; r++) several |= sorted[at + r] != sorted[at];
  bl_free(data->stratum);
  data->stratum = several ? bl_take(&sorted) : NULL;
  return BLICA_OK;
}
