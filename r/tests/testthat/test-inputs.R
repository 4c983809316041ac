drawn <- blica_simulate(variables = 6, sources = 2, segments = 5, samples = 200, seed = 3)
rows <- as.matrix(drawn$data[1:6])
segment <- drawn$data$segment
model <- blica(rows, segment, 2)

test_that("intervals of means and cuts, by group and by name", {
  found <- blica_assess(model, bootstrap = 0)
  all <- confint(model, bootstrap = 0)
  expect_identical(nrow(all), length(model$mixing) + 2L * length(model$means) + length(model$cuts))
  means <- confint(model, "means", level = 0.9, bootstrap = 0)
  expect_identical(rownames(means)[1:2], c("mean_z1:1", "mean_z2:1"))
  expect_equal(unname(means[, 2] - means[, 1]), as.vector(2 * qnorm(0.95) * found$mean_se))
  expect_equal(unname(rowMeans(means)), as.vector(model$means))
  expect_equal(unname(rowMeans(confint(model, "cuts", bootstrap = 0))), unname(model$cuts))
  expect_identical(confint(model, c("mixing", "variances"), bootstrap = 0), all[seq_len(nrow(vcov(model))), ])
  expect_identical(confint(model, c("x2:z1", "mean_z1:3"), bootstrap = 0), all[c("x2:z1", "mean_z1:3"), ])
  expect_identical(confint(model, 3:4, bootstrap = 0), all[3:4, ])
  expect_error(confint(model, "medians", bootstrap = 0), "there is no parameter medians; parm is 'mixing'")
  expect_error(confint(model, 1000, bootstrap = 0), "there is no parameter 1000")
})

test_that("segments that are numbers or dates are sorted", {
  number <- as.integer(as.character(segment))
  order <- order(-number)
  expect_identical(blica_count(rows[order, ], number[order])$segments, as.character(1:5))
  expect_identical(blica_count(rows[order, ], as.double(100000 * number[order]))$segments, paste0(1:5, "00000"))
  expect_identical(blica_count(rows[order, ], as.Date("2024-01-01") + number[order])$segments, sprintf("2024-01-0%d", 2:6))
  expect_identical(blica_count(rows[order, ], as.character(number[order]))$segments, as.character(5:1)) # text
  expect_identical(blica_count(rows, factor(number, c(3, 1, 2, 4, 5)))$segments, as.character(c(3, 1, 2, 4, 5)))
  expect_identical(blica(rows[order, ], number[order], 2)$segments, as.character(1:5))
})

test_that("ages are not taken for items without a word", {
  age <- 15L + rep_len(0:39, nrow(rows))
  expect_warning(expect_warning(blica(cbind(rows, age = age), segment, 2, ordinal = TRUE, max_iterations = 1),
                                "'age' has 40 levels, as a measurement has and not an item"), "did not converge")
})

test_that("seeds are whole numbers, and messages about them say the same", {
  seed <- 2^60
  expect_identical(blica(rows, segment, 2, seed = seed)$fit$seed, seed)
  expect_error(blica(rows, segment, 2, seed = 2^64), "'18446744073709551616' is not allowed; give a whole number from 0 to 18446744073709551615")
  expect_error(simulate(model, seed = "x"), "seed is x; give a whole number")
  expect_error(simulate(model, seed = NA), "seed is NA; give a whole number")
  expect_error(simulate(model, nsim = 2, seed = 2^53), "2\\^53")
})

test_that("numbers of sources to compare are consecutive", {
  expect_error(blica_select(rows, segment, c(1, 3)), "sources is 1, 3; give consecutive numbers")
  expect_identical(blica_select(rows, segment, 1:2, references = 20, folds = 2)$candidates$sources, c(0, 1, 2))
})

test_that("summary passes its options on and has the numbers of the assessment", {
  expect_identical(summary(model, bootstrap = 20)$assessment$draws, 20L)
  expect_identical(summary(model, bootstrap = 20)$assessment$mixing_se, blica_assess(model, bootstrap = 20)$mixing_se)
})

test_that("the degrees of freedom count the cuts", {
  expect_equal(attr(logLik(model), "df"), 6 * 2 + 2 * 5 * 2 - 2 + 6 - 2)
})
