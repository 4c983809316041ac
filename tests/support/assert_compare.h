/* assert_compare.h - a comparison of two numbers whose failure says what both are. After cmocka.h. */
#ifndef TESTS_ASSERT_COMPARE_H
#define TESTS_ASSERT_COMPARE_H

/* assert_compare(error, <, 1e-9); a NaN fails. */
#define assert_compare(left, relation, right)                                                                          \
  do {                                                                                                                 \
    const double left_value_ = (double)(left), right_value_ = (double)(right);                                         \
    if (!(left_value_ relation right_value_))                                                                          \
      fail_msg("%s %s %s is false: %.17g and %.17g", #left, #relation, #right, left_value_, right_value_);             \
  } while (0)

#endif
