drawn <- blica_simulate(variables = 6, sources = 2, segments = 8, samples = 400, seed = 5)
rows <- as.matrix(drawn$data[1:6])
segment <- drawn$data$segment

test_that("counts are the tables of the rows", {
  counts <- blica_count(rows, segment)
  for (s in c(1, 5)) for (pair in list(c(1, 2), c(3, 6))) {
    x <- rows[segment == counts$segments[s], pair]
    at <- (pair[2] - 1) * (pair[2] - 2) / 2 + pair[1]
    expect_equal(counts$n11[at, s], sum(x[, 1] == 1 & x[, 2] == 1))
    expect_equal(counts$n10[at, s], sum(x[, 1] == 1 & x[, 2] == 0))
    expect_equal(counts$n01[at, s], sum(x[, 1] == 0 & x[, 2] == 1))
  }
  file <- tempfile(fileext = ".npz")
  blica_counts_save(counts, file)
  expect_identical(blica_counts_load(file)$n11, counts$n11)
  expect_identical(blica(counts, k = 2)$mixing, blica(rows, segment, 2)$mixing)
})

test_that("tetrachoric correlations solve their equation", {
  r <- blica_tetrachoric(rows)
  expect_equal(unname(r$tau), unname(qnorm(colMeans(rows))), tolerance = 1e-13)
  table <- table(rows[, 1], rows[, 4])
  one <- blica_tetrachoric(matrix(as.numeric(table), 2))
  expect_equal(one$rho, r$rho[1, 4], tolerance = 1e-12)
  expect_equal(one$se, r$se[1, 4], tolerance = 1e-10)
  # P(both one) by numerical integration
  h <- r$tau[1]; k <- r$tau[4]; rho <- r$rho[1, 4]
  p <- integrate(function(x) dnorm(x) * pnorm((k - rho * x) / sqrt(1 - rho^2)), -Inf, h, rel.tol = 1e-10)$value
  expect_equal(p, mean(rows[, 1] & rows[, 4]), tolerance = 1e-8)
  expect_identical(dimnames(r$se), list(colnames(rows), colnames(rows)))
  expect_output(print(r), "Tetrachoric")
})

test_that("empty cells and constants are flagged", {
  x <- rbind(c(0, 0, 1), c(0, 1, 1), c(1, 0, 1), c(0, 0, 1))[rep(1:4, 5), ]
  r <- suppressWarnings(blica_tetrachoric(x))
  expect_equal(r$flags[1, 2], 1)
  expect_lt(r$rho[1, 2], 0)
  expect_equal(r$rho[1, 3], 0)
  expect_warning(expect_warning(blica_tetrachoric(x), class = "blica_warning"), class = "blica_warning")
})

test_that("missing values count pairwise", {
  x <- rows
  x[sample.int(length(x), 500)] <- NA
  counts <- blica_count(x, segment)
  here <- segment == counts$segments[3]
  expect_equal(counts$n11[1, 3] + counts$n10[1, 3] + counts$n01[1, 3] + counts$n00[1, 3], sum(!is.na(x[here, 1]) & !is.na(x[here, 2])))
})

test_that("exact counts recover the mixing", {
  exact <- blica_simulate(variables = 5, sources = 3, segments = 20, exact = TRUE, seed = 2)
  expect_null(exact$data)
  expect_gt(blica_compare(blica(exact$counts, k = 3), exact$model)$mcs, 1 - 1e-9)
})

test_that("compare and identify", {
  a <- matrix(c(1, 0, 2, 0, 1, 1), 3)
  c <- blica_compare(a, a[, 2:1] %*% diag(c(-1, 2)))
  expect_equal(c$mcs, 1)
  expect_equal(c$matching, c(2, 1))
  expect_equal(sign(c$cosine), c(1, -1))
  expect_error(blica_compare(a, a[1:2, ]), "3 x 2 and b is 2 x 2")
  count <- blica_identify(variables = 6, sources = 2, segments = 5)
  expect_equal(blica_identify(variables = 3, sources = 3, segments = 3, levels = 3)$surplus, 0)
  expect_equal(count$statistics, 5 * 15 + 2 * 5 * 6)
  expect_equal(blica_identify(drawn$model)$design, "yes")
  expect_error(blica_identify(variables = 6, sources = 2, segments = 5, samples = 5), "5 rows per segment")
  expect_error(blica_identify(drawn$model, samples = 50), "leave the model out")
})

test_that("errors are conditions that say what is wrong", {
  expect_error(blica_count(cbind(a = c(0, 1, 2), b = c(0, 1, 1))), "column 1 \\('a'\\) has 3 different values")
  expect_error(blica_count(matrix(0, 3, 1)), "at least 2")
  expect_error(blica_count(matrix(0, 0, 3)), "no rows")
  expect_error(blica_count(list(1)), "list")
  expect_error(blica_count(rows, segment[-1]), "label for each row")
  expect_error(blica_count(rows, replace(segment, 7, NA)), "row 7 has no segment")
  expect_error(blica(rows, segment), "k is missing")
  expect_error(blica(rows, segment, 7), "^k is 7; with 6 variables", class = "blica_bad_argument")
  expect_error(blica(rows, segment, 0), "^k: '0'", class = "blica_bad_argument")
  expect_error(blica(rows, segment, 2, starts = 0), "option starts: '0'")
  expect_error(blica(rows, segment, 2, prior_mixing = 0.01), "prior_mixing .* it needs prior fixed")
  expect_error(blica(rows, segment, 2, method = "matched", condition = 5), "it needs method auto or blica")
  expect_error(blica(rows, segment, 2, colour = 1), "'colour' is not an option")
  expect_error(blica(rows, segment, 2, 3), "without a name")
  expect_error(blica(rows, segment, 2, threads = "many"), "threads")
  expect_error(blica("x"), "character")
  expect_error(blica_load("/nowhere/model.json"), class = "blica_input_output_error")
})

test_that("options come from the table", {
  o <- blica_options("fit")
  expect_true(all(c("method", "starts", "condition") %in% o$name))
  expect_true(all(vapply(o$name, function(name) grepl(name, blica:::options_rd("fit"), fixed = TRUE), NA)))
  expect_true("blica" %in% names(blica_methods()))
})

test_that("segments are found in rows", {
  drawn <- blica_simulate(variables = 6, sources = 2, segments = 3, samples = 1000, seed = 3)
  x <- drawn$data[1:6]
  found <- blica_segment(x, 2, starts = 1, max_states = 5, threads = 1)
  expect_identical(levels(found$state), c("1", "2", "3"))
  agree <- table(found$state, drawn$data$segment)
  expect_gt(sum(apply(agree, 2, max)), 0.95 * nrow(x))
  expect_equal(unname(rowSums(found$probability)), rep(1, nrow(x)))
  expect_equal(unname(rowSums(found$transition)), rep(1, 3))
  expect_gt(blica_compare(found$model, drawn$model)$mcs, 0.95)
  expect_output(print(found), "3 states in 3000 rows")
  expect_error(blica_segment(x[1:40, ], 2), "at least 50", class = "blica_error")
  a <- blica_assess(blica(x, found$state, 2), bootstrap = 0)
  expect_true(a$segments_found)
  expect_identical(a$answers[["change"]], "unknown")
  half <- blica_segment(x, 2, starts = 1, states = 3, split = 20, threads = 1)
  kept <- !attr(half$state, "searched")
  expect_equal(sum(kept), 1500)
  state <- half$state[kept]
  expect_false(any(attr(state, "searched")))
  a <- blica_assess(blica(x[kept, ], state, 2), bootstrap = 0)
  expect_false(a$segments_found)
  expect_identical(a$answers[["change"]], "yes")
})

test_that("assessments, covariances and intervals belong together", {
  model <- blica(rows, segment, 2)
  a <- blica_assess(model, bootstrap = 0)
  expect_length(a$verdict, 4)
  expect_lt(a$change_p, 0.01)
  expect_true(a$expected_mcs > 0.9 && a$fit[["srmr"]] < 0.1)
  v <- vcov(model)
  expect_equal(unname(sqrt(diag(v))[1:12]), as.vector(a$mixing_se))
  bounds <- confint(model, bootstrap = 0)
  expect_equal(unname(bounds[1:12, 1]), as.vector(a$mixing_low))
  b <- blica_assess(model, bootstrap = 20)
  expect_equal(b$mixing_se, pmax(a$mixing_se, b$mixing_se_bootstrap))
  expect_equal(unname(confint(model, bootstrap = 20)[1:12, 1]), as.vector(b$mixing_low))
  expect_identical(blica_assess(model, rows, segment, bootstrap = 0)$mixing_se, a$mixing_se)
  expect_error(blica_assess(model, bootstrap = 19), "from 20 to", class = "blica_error")
  said <- capture.output(print(summary(model)))
  expect_length(grep("^(Design: .* can determine 2 sources if|Change: the data show that|Axes: well determined)", said), 3)
  expect_length(grep("^p of no change +<0.001 +<0.001$", said), 1)
  short <- capture.output(print(summary(model, assess = FALSE)))
  expect_length(grep("^Design: these segments can determine the sources if their variances change \\(rank 26 of 26\\)\\.$", short), 1)
  expect_length(grep("^(Change|Axes)", short), 0)
  expect_length(grep("\\bfix", c(said, short)), 0)
  expect_error(anova(model, blica(rows[1:1600, ], segment[1:1600], 1)), "3200 and 1600 rows")
  table <- anova(model, blica(rows, segment, 1))
  expect_identical(table$sources, 1:2)
})

test_that("fitted values are the model's", {
  model <- blica(rows, segment, 2)
  m <- diag(6) + model$link * model$mixing %*% (model$variances[, 3] * t(model$mixing))
  expect_equal(fitted(model)[, , 3], cov2cor(m), tolerance = 1e-12)
  expect_equal(fitted(model, "probabilities")[, 3],
               pnorm((drop(sqrt(model$link) * model$mixing %*% model$means[, 3]) - model$cuts) / sqrt(diag(m))), tolerance = 1e-12)
  expect_gt(max(abs(model$cuts)), 0)
  observed <- vapply(split(as.data.frame(rows), segment), colMeans, numeric(6))
  expect_equal(residuals(model, "probabilities"), observed - fitted(model, "probabilities"), tolerance = 1e-9)
})

test_that("the number of sources is found", {
  found <- blica_select(rows, segment, sources = 1:3, folds = 3, references = 20)
  expect_identical(found$sources, 2L)
  expect_output(print(found), "held-out chooses 2")
})

test_that("blica_mvn gives known probabilities", {
  third <- blica_mvn(c(-Inf, -Inf), c(0, 0), cov = matrix(c(1, .5, .5, 1), 2), gradient = TRUE)
  expect_lt(abs(third$value - 1 / 3), third$error)
  expect_equal(third$cov[1, 2], 1 / (4 * pi * sqrt(.75)), tolerance = 1e-4)
  expect_equal(blica_mvn(0, rep(Inf, 9), loading = rep(1, 9), unique = 1)$value, 1 / 10, tolerance = 1e-7)
  expect_error(blica_mvn(1, 0, cov = 1), "lower must be below upper")
  expect_error(blica_mvn(c(0, 0), c(1, 1), cov = matrix(1, 2, 2)), "not positive definite")
  expect_error(blica_mvn(0, 1), "give cov, or loading and unique")
})
