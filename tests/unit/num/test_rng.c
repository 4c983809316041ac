/* Random numbers: the known answers that the authors of Philox publish with Random123 (philox4x32, 10 rounds), and that
 * draws depend on seed, stream and place alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "num/rng.h"

/* Counter and key, lowest word first, and the block that they give. */
static const uint32_t KNOWN[][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
     0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
     0x24126ea1},
};

static uint64_t joined(const uint32_t *low) {
  return low[0] | (uint64_t)low[1] << 32;
}

static void known_answers_come_out(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
    const uint32_t *row = KNOWN[i];
    bl_rng rng = bl_rng_make(joined(row + 4), joined(row + 2));
    rng.next = joined(row);
    for (int word = 0; word < 2; word++) {
      const uint64_t bits = joined(row + 6 + 2 * word);
      assert_true(bl_rng_uniform(&rng) == ((double)(bits >> 11) + 0.5) * 0x1p-53);
    }
  }
}

static void draws_depend_on_their_place_alone(void **state) {
  (void)state;
  bl_rng all = bl_rng_make(5, 9), late = bl_rng_make(5, 9), other = bl_rng_make(5, 10);
  late.next = 3;
  for (int i = 0; i < 6; i++) assert_true(bl_rng_uniform(&all) != bl_rng_uniform(&other));
  for (int i = 0; i < 6; i++) assert_true(bl_rng_uniform(&all) == bl_rng_uniform(&late));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers_come_out),
      cmocka_unit_test(draws_depend_on_their_place_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
