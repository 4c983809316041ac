/* polychoric_kernel.c - polychoric correlations of eight tables at once, one to a lane, thresholds fixed by their
 * margins (Olsson 1979, Psychometrika 44, 443-460: the two-step estimate).
 *
 * P_ab(rho) is the probability of a rectangle, four values of Phi2; its derivative P'_ab the same combination of
 * densities (Plackett 1954). The score sum_ab s_ab P'_ab / P_ab has one root where it falls. Where the likelihood grows
 * up to |rho| = 1 the bound BL_POLYCHORIC_BOUND is the answer.
 *
 * Variance by the delta method, the thresholds' own errors included: with s = P'/P the score of a cell, I = sum P s^2,
 *   N var(rho) = Var(w) / I^2,   w_ab = s_ab - sum_m c_m z_m(a) - sum_m d_m z_m(b),
 *   z_m(a) = (1[a <= m] - Phi(h_m)) / phi(h_m),   c_m = sum_ab s_ab dP_ab/dh_m;
 * for two by two levels this is the variance of num/normal/tetra.c.
 *
 * Up to |rho| = 0.9249 probabilities by Mehler's series: with w_m(h) = phi(h) He_(m-1)(h) / sqrt(m (m-1)!),
 *   Phi2(h,k;rho) = Phi(h) Phi(k) + sum_(m>=1) rho^m w_m(h) w_m(k),
 *   w_(m+1) = (h w_m - (m-1)/sqrt(m) w_(m-1)) / sqrt(m+1).
 * Thresholds of rows and columns separate, so that a term costs a multiplication and an addition at each corner.
 * |w_m| < 0.36 m^(-3/4) for every h: what is left after T terms is below 0.13 rho^T / (T^1.5 (1-rho)). All lanes take
 * the number of terms of the one that needs most. Lanes beyond take Phi2 and its density from num/normal/bvn.c.
 *
 * The root of the score: from the correlation that gives the observed covariance of the normal scores, the expected
 * one being a series of the same kind, by Halley's method inside a bracket; two steps are the rule. Levels that nobody
 * has do no harm: two thresholds coincide, or one lies at -37 or 37, and their cells have no share. One source for
 * SSE2, AVX2 and AVX-512 with equal bits.
 * Accuracy: the root to 1e-13 of rho, less where observed cells are improbable (1.4e-12 was seen in a table of
 * psychTools::spi). Checked against tables with 50 digits in tests/unit/num/test_accuracy.c, against num/normal/tetra.c
 * for 2x2 and against simulated sampling variances in test_polychoric.c. */
#include <math.h>

#include "num/normal/normal.h"
#include "num/normal/tables.h"

#define SMALLEST 1e-18 /* a rectangle below it is rounding */
#define SERIES 0.9249  /* |rho| up to which the series serves */
#define OVER_ROOT_TWO_PI 0.3989422804014326779
#define OVER_TWO_PI 0.15915494309189533577
enum { PARTS = 4, MOST_STEPS = 100, GUESS_TERMS = 8, GUESS_STEPS = 3, TERMS = BL_POLYCHORIC_TERMS };

/* Arrays of vectors: element i of x begins at x + 8 i. */
typedef struct {
  int rows, columns, cuts;      /* cuts: thresholds of rows, then of columns */
  int count;                    /* lanes that are asked for */
  int terms, roots;             /* of w and of 1/sqrt(m) that are there */
  const double *share;          /* [rows,columns] */
  double *cell, *s, *curvature; /* [rows,columns] probabilities P, scores P'/P and their derivatives */
  double *h, *below;            /* [cuts] thresholds and Phi of them */
  double *w;                    /* [terms+1,cuts] w_m at the thresholds, m from 0 */
  double *power;                /* [terms] rho^m */
  double *corner[2][PARTS];     /* [columns+1] Phi2 and its derivatives, of the row above and this one */
  double *mean;                 /* [rows+columns] normal scores */
  double over_root[TERMS + 8];  /* 1/sqrt(m) */
} tables;

BL_INLINE bl_v get(const double *x, int i) {
  return bl_v_load(x + (size_t)i * BL_LANES);
}
BL_INLINE void put(double *x, int i, bl_v v) {
  bl_v_store(x + (size_t)i * BL_LANES, v);
}

/* Bit i is set where lane i is. */
static unsigned mask_of(bl_vi lanes) {
  unsigned mask = 0;
  for (int lane = 0; lane < BL_LANES; lane++) mask |= lanes[lane] ? 1u << lane : 0;
  return mask;
}

/* Probabilities below the thresholds from the margins: levels are `step` cells apart and sum over `across` cells,
 * `stride` apart. */
static void add_margins(const double *share, int levels, int step, int across, int stride, double *below) {
  bl_v sum = bl_v_all(0);
  for (int a = 1; a < levels; a++) {
    for (int b = 0; b < across; b++) sum += get(share, (a - 1) * step + b * stride);
    put(below, a - 1, sum);
  }
}

/* given: the thresholds, or NULL. */
static void set_first_tables(tables *t, const double *given, double *work) {
  const int cuts = t->cuts;
  const int ends = t->columns + 1, cells = t->rows * t->columns;
  double **arrays[] = {&t->h, &t->below, &t->power, &t->mean, &t->cell, &t->s, &t->curvature};
  const int sizes[] = {cuts, cuts, TERMS + 1, cuts + 2, cells, cells, cells};
  for (int i = 0; i < 7; work += (size_t)sizes[i++] * BL_LANES) *arrays[i] = work;
  for (int i = 0; i < 2 * PARTS; i++, work += (size_t)ends * BL_LANES) t->corner[i / PARTS][i % PARTS] = work;
  t->w = work;
  add_margins(t->share, t->rows, t->columns, t->columns, 1, t->below);
  add_margins(t->share, t->columns, 1, t->rows, t->columns, t->below + (size_t)(t->rows - 1) * BL_LANES);
  for (int i = 0; i < cuts; i++) {
    bl_v over_density, h = given ? get(given, i) : bl_v_phi_inverse(get(t->below, i), &over_density);
    put(t->h, i, h);
    put(t->w, i, bl_v_all(0));
    put(t->w, cuts + i, bl_v_exp(-0.5 * h * h) * OVER_ROOT_TWO_PI);
  }
  t->terms = 1;
}

/* Sees to it that the first `terms` terms are there. */
static void extend(tables *t, int terms) {
  const int cuts = t->cuts;
  for (; t->roots <= terms; t->roots += BL_LANES) {
    bl_v number = {0, 1, 2, 3, 4, 5, 6, 7};
    bl_v_store(t->over_root + t->roots, 1.0 / bl_v_sqrt(number + t->roots));
  }
  for (int m = t->terms; m < terms; m++) {
    const double next = t->over_root[m + 1], back = (m - 1) * t->over_root[m] * next;
    const double *w = t->w + (size_t)m * (size_t)cuts * BL_LANES, *before = w - (size_t)cuts * BL_LANES;
    double *to = t->w + (size_t)(m + 1) * (size_t)cuts * BL_LANES;
    for (int i = 0; i < cuts; i++) put(to, i, get(t->h, i) * next * get(w, i) - back * get(before, i));
  }
  if (terms > t->terms) t->terms = terms;
}

/* Terms of the series at the largest |rho| that leave less than 1e-15. */
static int terms_at(bl_v rho) {
  double most = 0.01;
  for (int lane = 0; lane < BL_LANES; lane++) most = fmax(most, fabs(rho[lane]));
  return (int)fmin(ceil(log(1e-13 * (1 - most)) / log(most)), TERMS);
}

/* sum over m of rho^m w_m(h) w_m(k) for the threshold h and `width` thresholds from k on. */
BL_INLINE void add_terms(const tables *t, int terms, int h, int k, int width, bl_v *sum) {
  for (int b = 0; b < width; b++) sum[b] = bl_v_all(0);
  for (int m = terms; m > 0; m--) {
    const double *w = t->w + (size_t)m * (size_t)t->cuts * BL_LANES;
    bl_v own = get(t->power, m) * get(w, h);
    for (int b = 0; b < width; b++) sum[b] += own * get(w, k + b);
  }
}

/* As add_terms, for any width up to 5. */
static void add_series(const tables *t, int terms, int h, int k, int width, bl_v *sum) {
  switch (width) {
  case 1:
    add_terms(t, terms, h, k, 1, sum);
    break;
  case 2:
    add_terms(t, terms, h, k, 2, sum);
    break;
  case 3:
    add_terms(t, terms, h, k, 3, sum);
    break;
  case 4:
    add_terms(t, terms, h, k, 4, sum);
    break;
  default:
    add_terms(t, terms, h, k, 5, sum);
  }
}

/* Computes Phi2 and its density in the lanes where the series does not converge. */
static void fill_beyond(const tables *t, bl_v h, bl_v k, bl_v rho, bl_v *p, bl_v *density) {
  for (int lane = 0; lane < t->count; lane++) {
    if (fabs(rho[lane]) <= SERIES) continue;
    (*p)[lane] = blica_bvn(h[lane], k[lane], rho[lane]);
    (*density)[lane] = bl_bvn_density(h[lane], k[lane], rho[lane]);
  }
}

/* Phi2 and its derivatives at the corners above row a; the ends are those of infinite thresholds. Inlined into the loop
 * over rows, the sums of the series would not stay in registers: a sixth of the time of the whole kernel. */
static __attribute__((noinline)) void fill_corners(const tables *t, int a, bl_v rho, int terms,
                                                   double *const to[PARTS]) {
  const int first = t->rows - 1, inner = t->columns - 1;
  const bl_v over = 1.0 / ((1.0 - rho) * (1.0 + rho)), scale = bl_v_sqrt(over) * OVER_TWO_PI;
  const bl_v h = get(t->h, a - 1), below = get(t->below, a - 1), zero = bl_v_all(0);
  const bool beyond = mask_of((bl_vi)(bl_v_abs(rho) > SERIES));
  for (int i = 0; i < PARTS; i++) put(to[i], 0, zero), put(to[i], t->columns, i == 0 ? below : zero);
  for (int b = 0; b < inner; b += 5) {
    const int width = inner - b < 5 ? inner - b : 5;
    bl_v sum[5];
    add_series(t, terms, a - 1, first + b, width, sum);
    for (int i = 0; i < width; i++) {
      const int at = b + i + 1;
      bl_v k = get(t->h, first + b + i), product = h * k, squares = 0.5 * (h * h + k * k),
           cross = product * rho - squares;
      bl_v density = bl_v_exp(cross * over) * scale, up = (product + rho * (cross - squares)) * over;
      bl_v growth = (rho + up) * over; /* of the density */
      bl_v p = below * get(t->below, first + b + i) + sum[i];
      if (beyond) fill_beyond(t, h, k, rho, &p, &density);
      put(to[0], at, p);
      put(to[1], at, density);
      put(to[2], at, density * growth);
      put(to[3], at, density * (growth * growth + over * (1.0 + 2.0 * over * (rho * (rho + 2.0 * up) + cross))));
    }
  }
}

/* The last row of corners, where the row's threshold is infinite. */
static void fill_end(const tables *t, double *const to[PARTS]) {
  for (int b = 0; b <= t->columns; b++) {
    put(to[0], b, b == 0 ? bl_v_all(0) : b < t->columns ? get(t->below, t->rows + b - 2) : bl_v_all(1));
    for (int i = 1; i < PARTS; i++) put(to[i], b, bl_v_all(0));
  }
}

/* Cells of row a between two rows of corners; adds to the score and its derivatives. */
static void add_row(const tables *t, int a, double *const low[PARTS], double *const high[PARTS], bl_v score[3]) {
  const bl_v smallest = bl_v_all(SMALLEST), zero = bl_v_all(0);
  for (int b = 0; b < t->columns; b++) {
    const int at = a * t->columns + b;
    bl_v part[PARTS], share = get(t->share, at);
    for (int i = 0; i < PARTS; i++)
      part[i] = (get(high[i], b + 1) - get(low[i], b + 1)) - (get(high[i], b) - get(low[i], b));
    bl_v inverse = 1.0 / bl_v_max(part[0], smallest), s = part[1] * inverse, curvature = part[2] * inverse - s * s;
    put(t->cell, at, bl_v_max(part[0], zero));
    put(t->s, at, bl_v_if_less(smallest, part[0], s, zero));
    put(t->curvature, at, bl_v_if_less(smallest, part[0], curvature, zero));
    score[0] += share * s;
    score[1] += share * curvature;
    score[2] += share * (part[3] * inverse - s * (3.0 * curvature + s * s));
  }
}

/* All cells at rho, and the score with two derivatives. */
static void score_at(tables *t, bl_v rho, bl_v score[3]) {
  const bl_v inner = bl_v_select((bl_vi)(bl_v_abs(rho) > SERIES), bl_v_all(0), rho);
  const int terms = terms_at(inner);
  bl_v power = bl_v_all(1);
  extend(t, terms);
  for (int m = 1; m <= terms; m++) put(t->power, m, power *= inner);
  for (int i = 0; i < PARTS; i++)
    for (int b = 0; b <= t->columns; b++) put(t->corner[0][i], b, bl_v_all(0));
  for (int i = 0; i < 3; i++) score[i] = bl_v_all(0);
  for (int a = 1; a <= t->rows; a++) {
    double *const *low = t->corner[(a - 1) % 2], *const *high = t->corner[a % 2];
    if (a < t->rows)
      fill_corners(t, a, rho, terms, high);
    else
      fill_end(t, high);
    add_row(t, a - 1, low, high, score);
  }
}

/* Mean of a standard normal variable within each level between the cuts from `first` on. */
static void mean_scores(const tables *t, int first, int levels, double *mean) {
  bl_v density = bl_v_all(0), below = bl_v_all(0);
  for (int a = 0; a < levels; a++) {
    bl_v next = a + 1 < levels ? get(t->w, t->cuts + first + a) : bl_v_all(0);
    bl_v above = a + 1 < levels ? get(t->below, first + a) : bl_v_all(1);
    put(mean, a, (density - next) / bl_v_max(above - below, bl_v_all(SMALLEST)));
    density = next, below = above;
  }
}

/* Coefficient m of the normal scores' covariance: sum over cuts of w_m times the fall of the score there. */
BL_INLINE bl_v coefficient(const tables *t, int m, int first, int levels, const double *mean) {
  bl_v sum = bl_v_all(0);
  for (int a = 0; a + 1 < levels; a++) sum += get(t->w, m * t->cuts + first + a) * (get(mean, a) - get(mean, a + 1));
  return sum;
}

/* The correlation that gives the observed product of the levels' mean scores, by a short series. */
static bl_v first_guess(tables *t) {
  double *row = t->mean, *column = row + (size_t)t->rows * BL_LANES;
  bl_v sum = bl_v_all(0), rho = bl_v_all(0), c[GUESS_TERMS + 1], limit = bl_v_all(0.9);
  mean_scores(t, 0, t->rows, row);
  mean_scores(t, t->rows - 1, t->columns, column);
  for (int a = 0; a < t->rows; a++) {
    bl_v own = bl_v_all(0);
    for (int b = 0; b < t->columns; b++) own += get(t->share, a * t->columns + b) * get(column, b);
    sum += own * get(row, a);
  }
  extend(t, GUESS_TERMS);
  for (int m = 1; m <= GUESS_TERMS; m++)
    c[m] = coefficient(t, m, 0, t->rows, row) * coefficient(t, m, t->rows - 1, t->columns, column);
  for (int step = 0; step < GUESS_STEPS; step++) {
    bl_v value = bl_v_all(0), slope = bl_v_all(0);
    for (int m = GUESS_TERMS; m > 0; m--) slope = slope * rho + value + c[m], value = (value + c[m]) * rho;
    rho = bl_v_max(bl_v_min(rho + (sum - value) / slope, limit), -limit);
  }
  return rho;
}

/* Halley's step, or Newton's far from the root. *error is what it may miss. */
BL_INLINE bl_v step_from(bl_v rho, const bl_v score[3], bl_v *error) {
  bl_v step = -score[0] / score[1], factor = 1.0 + 0.5 * step * score[2] / score[1];
  bl_v size = bl_v_abs(step) / ((1.0 - rho) * (1.0 + rho)), one = bl_v_all(1);
  bl_vi usable = (bl_vi)(factor > 0.5) & (bl_vi)(factor < 2.0);
  *error = bl_v_select(usable, size * size * size, one);
  return step / bl_v_select(usable, factor, one);
}

/* Moves the cells from where they were computed last to the root. */
static void move_cells(const tables *t, bl_v by) {
  for (int c = 0; c < t->rows * t->columns; c++) {
    bl_v s = get(t->s, c), cell = get(t->cell, c);
    put(t->cell, c, cell + by * cell * s);
    put(t->s, c, s + by * get(t->curvature, c));
  }
}

/* The roots; cells are left there. Beyond the series a step goes at most half of the way to 1: further on, cells that
 * were observed may be so improbable that the score is rounding. */
static bl_v solve(tables *t) {
  const bl_v end = bl_v_all(BL_POLYCHORIC_BOUND);
  bl_v low = bl_v_all(-1), high = bl_v_all(1), root = first_guess(t), rho = root, score[3], error;
  bl_vi done = {0};
  for (int lane = t->count; lane < BL_LANES; lane++) done[lane] = -1, rho[lane] = root[lane] = 0;
  for (int round = 0; round < MOST_STEPS && mask_of(~done); round++) {
    rho = bl_v_select(done, rho, root);
    score_at(t, rho, score);
    bl_vi rising = (bl_vi)(score[0] > 0.0);
    low = bl_v_select(rising, rho, low), high = bl_v_select(rising, high, rho);
    bl_v next = rho + step_from(rho, score, &error);
    bl_vi inside = (bl_vi)(score[1] < 0.0) & (bl_vi)(next >= low) & (bl_vi)(next <= high);
    bl_v size = bl_v_abs(rho),
         most = bl_v_select((bl_vi)(size < SERIES), bl_v_all(SERIES), bl_v_min(0.5 + 0.5 * size, end));
    next = bl_v_max(bl_v_min(bl_v_select(inside, next, 0.5 * (low + high)), most), -most);
    root = bl_v_select(done, root, next);
    done |=
        (bl_vi)(low >= end) | (bl_vi)(high <= -end) | (inside & (bl_vi)(error < 1e-17)) | (bl_vi)(high - low < 1e-13);
  }
  move_cells(t, root - rho);
  return root;
}

/* Sums over the levels above: on return c[a] = sum of c_m over the thresholds m above level a. */
static void add_up(double *c, int levels) {
  bl_v sum = bl_v_all(0);
  for (int a = levels - 1; a >= 0; a--) {
    bl_v own = a > 0 ? get(c, a) : sum;
    put(c, a, sum);
    sum += own;
  }
}

/* c_m of the thresholds of the rows and d_m of those of the columns, each over the density at its threshold. */
static void threshold_effects(const tables *t, bl_v rho, double *c, double *d) {
  const int rows = t->rows, columns = t->columns;
  const bl_v over = 1.0 / bl_v_sqrt((1.0 - rho) * (1.0 + rho));
  bl_v below, above, density;
  for (int b = 0; b < columns; b++) put(d, b, bl_v_all(0));
  for (int a = 1; a < rows; a++) {
    const bl_v h = get(t->h, a - 1);
    const double *s = t->s + (size_t)((a - 1) * columns) * BL_LANES, *next = s + (size_t)columns * BL_LANES;
    bl_v sum = get(s, columns - 1) - get(next, columns - 1);
    for (int b = 1; b < columns; b++) {
      const bl_v k = get(t->h, rows - 2 + b);
      bl_v cross = (get(s, b - 1) - get(next, b - 1)) - (get(s, b) - get(next, b));
      bl_v_phi((k - rho * h) * over, &below, &above, &density);
      sum += below * cross;
      bl_v_phi((h - rho * k) * over, &below, &above, &density);
      put(d, b, get(d, b) + below * cross);
    }
    put(c, a, sum);
  }
  for (int b = 1; b < columns; b++) {
    const double *s = t->s + (size_t)((rows - 1) * columns + b - 1) * BL_LANES;
    put(d, b, get(d, b) + get(s, 0) - get(s, 1));
  }
}

static bl_v variance_at(const tables *t, bl_v rho) {
  double *c = t->mean, *d = c + (size_t)t->rows * BL_LANES;
  bl_v mean = bl_v_all(0), squares = bl_v_all(0), information = bl_v_all(0);
  threshold_effects(t, rho, c, d);
  add_up(c, t->rows);
  add_up(d, t->columns);
  for (int a = 0; a < t->rows; a++)
    for (int b = 0; b < t->columns; b++) {
      const int at = a * t->columns + b;
      bl_v share = get(t->share, at), s = get(t->s, at), w = s - get(c, a) - get(d, b);
      information += get(t->cell, at) * s * s;
      mean += share * w;
      squares += share * w * w;
    }
  return (squares - mean * mean) / (information * information);
}

void BL_NAME(bl_polychoric)(int rows, int columns, int count, const double *share, const double *cuts, double *work,
                            double *rho, double *variance) {
  tables t = {.rows = rows, .columns = columns, .cuts = rows + columns - 2, .count = count, .share = share};
  set_first_tables(&t, cuts, work);
  bl_v root = solve(&t);
  put(rho, 0, root);
  if (variance) put(variance, 0, variance_at(&t, root));
}
