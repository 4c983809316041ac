/* gibbs_kernel.c - Gibbs sampling of truncated normal vectors, eight rows at once.
 *
 * Method (Geweke 1991; Robert, Statistics and Computing 5, 1995): element i given the others is normal with mean
 * q_i - h_i/K_ii, h = K (q - mean), and variance 1/K_ii, confined to its interval; it is drawn by inversion of the
 * distribution function, from the tail on which the interval lies, so that no digits are lost. h is kept up to date.
 * Expected derivatives of log P(intervals): E[h] in the mean and (E[h h'] - K)/2 in the covariance. Each step gives
 * them with its own element integrated out (Rao and Blackwell): with x the standardised element, its truncated moments
 * x1 and x2, and h' = h with element i at its conditional mean, E[h_i | others] = x1 K_ii^1/2 and
 * E[h_i h_j | others] = x1 K_ii^1/2 h'_j + x2 K_ij. In the ends of the interval they are the densities there over the
 * probability between them.
 * Random numbers: Philox 4x32-10 (Salmon et al. 2011) with the counter (draw, row), 32 bits a draw; rows do not depend
 * on which block, thread or rank has them. One source for SSE2, AVX2 and AVX-512 with equal bits.
 * Accuracy: draws to 1e-9 of their scale (32 bits); intervals more than 37 standard deviations away count as points.
 * Checked against orthant probabilities and exact derivatives in tests/unit/num/test_gibbs.c. */
#include "num/rectangles/gibbs.h"

#include <math.h>

#include "num/simd.h"

enum { ROUNDS = 10, TOGETHER = 4 };
static const uint32_t PURPOSE = 0x47494242u;

/* Four random words of 32 bits for each of eight rows. */
BL_INLINE void random_words(uint64_t seed, uint32_t draw, uint32_t row, bl_vu out[TOGETHER]) {
  const bl_vu mask = (bl_vu)bl_v_all(0) + UINT64_C(0xffffffff);
  uint64_t key0 = seed & 0xffffffff, key1 = seed >> 32;
  bl_vu x0 = (mask & 0) + draw, x1 = mask & 0, x2 = {0, 1, 2, 3, 4, 5, 6, 7}, x3 = (mask & 0) + PURPOSE;
  x2 = (x2 + row) & mask;
  for (int round = 0; round < ROUNDS; round++) {
    bl_vu p0 = x0 * UINT64_C(0xD2511F53), p1 = x2 * UINT64_C(0xCD9E8D57);
    x0 = (p1 >> 32) ^ x1 ^ key0;
    x1 = p1 & mask;
    x2 = (p0 >> 32) ^ x3 ^ key1;
    x3 = p0 & mask;
    key0 = (key0 + 0x9E3779B9u) & 0xffffffff;
    key1 = (key1 + 0xBB67AE85u) & 0xffffffff;
  }
  out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

/* (word + 1/2) / 2^32 */
BL_INLINE bl_v uniform(bl_vu word) {
  bl_v whole = (bl_v)(word | UINT64_C(0x4330000000000000)) - 0x1p52;
  return (whole + 0.5) * 0x1p-32;
}

/* A standard normal number in (low, high), the first two moments of the truncated distribution, and its density at
 * high.
 */
BL_INLINE bl_v draw_inside(bl_v low, bl_v high, bl_v u, bl_v *mean, bl_v *square, bl_v *upper) {
  bl_vi flip = (bl_vi)(low + high > 0.0);
  bl_v a = bl_v_select(flip, -high, low), b = bl_v_select(flip, -low, high); /* a + b <= 0: a lower tail */
  bl_v below_a, below_b, above, density_a, density_b;
  bl_v_phi(a, &below_a, &above, &density_a);
  bl_v_phi(b, &below_b, &above, &density_b);
  bl_vi open = (bl_vi)(a < -0.5 * BL_GIBBS_INFINITY), all = (bl_vi)(b > 0.5 * BL_GIBBS_INFINITY);
  below_a = bl_v_select(open, bl_v_all(0), below_a);
  density_a = bl_v_select(open, bl_v_all(0), density_a);
  density_b = bl_v_select(all, bl_v_all(0), density_b);
  bl_v mass = bl_v_max(below_b - below_a, bl_v_all(1e-290)), over = 1.0 / mass, ignored;
  bl_v x = bl_v_phi_inverse(bl_v_max(below_a + u * mass, bl_v_all(1e-289)), &ignored);
  bl_v x1 = (density_a - density_b) * over;
  x = bl_v_min(bl_v_max(x, a), b);
  x1 = bl_v_min(bl_v_max(x1, a), b);
  *upper = bl_v_select(flip, density_a, density_b) * over;
  *square = bl_v_max(
      1.0 + (bl_v_select(open, bl_v_all(0), a) * density_a - bl_v_select(all, bl_v_all(0), b) * density_b) * over,
      x1 * x1);
  *mean = bl_v_select(flip, -x1, x1);
  return bl_v_select(flip, -x, x);
}

/* The same where one of the two is infinite. */
BL_INLINE bl_v draw_beyond(bl_v low, bl_v high, bl_v u, bl_v *mean, bl_v *square) {
  bl_vi flip = (bl_vi)(low + high > 0.0);
  bl_v b = bl_v_select(flip, -low, high), below, above, density, ignored;
  bl_v_phi(b, &below, &above, &density);
  below = bl_v_max(below, bl_v_all(1e-290));
  bl_v x = bl_v_min(bl_v_phi_inverse(bl_v_max(u * below, bl_v_all(1e-289)), &ignored), b);
  bl_v x1 = bl_v_min(-density / below, b);
  *square = bl_v_max(1.0 + b * x1, x1 * x1);
  *mean = bl_v_select(flip, -x1, x1);
  return bl_v_select(flip, -x, x);
}

typedef struct {
  bl_v *second, *h, *first, *squares;
  double *edge;
} parts;

BL_INLINE parts divide(double *work, int n) {
  parts p = {.second = (bl_v *)work};
  p.h = p.second + (size_t)n * n, p.first = p.h + n, p.squares = p.first + n;
  return p;
}

BL_INLINE void refresh(const bl_gibbs_law *law, const bl_v *q, bl_v *h) {
  const int n = law->n;
  for (int i = 0; i < n; i++) h[i] = bl_v_all(0);
  for (int j = 0; j < n; j++) {
    bl_v gap = q[j] - law->mean[j];
    for (int i = 0; i < n; i++) h[i] += law->precision[j * n + i] * gap;
  }
}

/* Derivatives in the ends of element i's intervals. */
BL_INLINE void add_ends(const bl_gibbs_law *law, const bl_gibbs_block *block, int i, bl_v slope, bl_v upper, parts *p) {
  double *edge = p->edge + (size_t)i * (size_t)(law->codes + 1);
  for (int lane = 0; lane < BL_LANES; lane++) {
    const int code = block->code[i * BL_LANES + lane];
    edge[code] -= slope[lane] + upper[lane];
    edge[code + 1] += upper[lane];
  }
}

/* Element i of eight rows. */
BL_INLINE void step(const bl_gibbs_law *law, const bl_gibbs_block *block, int i, bl_v u, bl_v weight, bool add,
                    parts *p) {
  const int n = law->n;
  const double *row = law->precision + (size_t)i * n, root = sqrt(row[i]), sd = 1.0 / root;
  bl_v *q = (bl_v *)block->q, low, high, x1, x2, upper = bl_v_all(0);
  for (int lane = 0; lane < BL_LANES; lane++) {
    int code = i * law->codes + block->code[i * BL_LANES + lane];
    low[lane] = law->low[code], high[lane] = law->high[code];
  }
  bl_v away = p->h[i] * (1.0 / row[i]), centre = q[i] - away;
  low = (low - centre) * root, high = (high - centre) * root;
  bl_v x = law->one_sided ? draw_beyond(low, high, u, &x1, &x2) : draw_inside(low, high, u, &x1, &x2, &upper);
  bl_v move = sd * bl_v_min(bl_v_max(x, low), high), next = centre + move;
  q[i] = next;
  if (!add) {
    bl_v change = move - away;
    for (int j = 0; j < n; j++) p->h[j] += row[j] * change;
    return;
  }
  bl_v slope = weight * (x1 * root), *second = p->second + (size_t)i * n;
  p->first[i] += slope;
  if (p->edge) add_ends(law, block, i, slope, weight * (upper * root), p);
  p->squares[i] += weight * (x2 - 1.0);
  for (int j = 0; j < n; j++) {
    bl_v base = p->h[j] - row[j] * away;
    second[j] += slope * base;
    p->h[j] = base + row[j] * move;
  }
}

BL_INLINE void run_all(const bl_gibbs_law *law, int64_t count, bl_gibbs_block *block, int sweeps, double *work,
                       const bl_gibbs_sums *sums) {
  const int n = law->n, draws = (n + TOGETHER - 1) / TOGETHER;
  parts p = divide(work, n);
  if (sums && sums->edge) {
    p.edge = sums->edge;
    memset(p.edge, 0, sizeof(double) * (size_t)n * (size_t)(law->codes + 1));
  }
  for (int64_t b = 0; b < count; b++) {
    bl_v weight;
    memcpy(&weight, block[b].weight, sizeof weight);
    refresh(law, (const bl_v *)block[b].q, p.h);
    for (int sweep = 0; sweep < sweeps; sweep++, block[b].sweep++) {
      bl_vu word[TOGETHER];
      for (int i = 0; i < n; i++) {
        if (i % TOGETHER == 0)
          random_words(law->seed, block[b].sweep * (uint32_t)draws + (uint32_t)(i / TOGETHER), block[b].row, word);
        step(law, &block[b], i, uniform(word[i % TOGETHER]), weight, sums != NULL, &p);
      }
    }
  }
}

void BL_NAME(bl_gibbs_run)(const bl_gibbs_law *law, int64_t count, bl_gibbs_block *block, int sweeps, double *work,
                           const bl_gibbs_sums *sums) {
  const int n = law->n;
  const parts p = divide(work, n);
  memset(work, 0, sizeof(double) * bl_gibbs_work(n));
  run_all(law, count, block, sweeps, work, sums);
  for (int i = 0; sums && i < n; i++) {
    double squares = bl_v_sum(p.squares[i]);
    sums->first[i] = bl_v_sum(p.first[i]);
    for (int j = 0; j < n; j++)
      sums->second[i * n + j] = bl_v_sum(p.second[i * n + j]) + squares * law->precision[i * n + j];
  }
}
