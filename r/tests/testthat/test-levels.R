drawn <- blica_simulate(variables = 5, sources = 2, segments = 6, samples = 500, levels = 3, seed = 4)
items <- drawn$data[1:5]
numbers <- as.data.frame(lapply(items, function(v) as.integer(v) - 1L))
segment <- drawn$data$segment

test_that("ordered factors, whole numbers and given levels are the same fit", {
  expect_true(all(vapply(items, is.ordered, NA)))
  model <- blica(items, segment, 2)
  expect_identical(unname(model$levels), rep(list(c("0", "1", "2")), 5))
  labels <- paste0(rep(paste0("x", 1:5), each = 2), ">=", 1:2)
  expect_identical(names(model$cuts), labels)
  expect_identical(dimnames(model$thresholds), list(labels, model$segments))
  expect_identical(blica(numbers, segment, 2, ordinal = TRUE)$mixing, model$mixing)
  expect_identical(blica(as.matrix(numbers), segment, 2, ordinal = TRUE)$mixing, model$mixing)
  text <- as.data.frame(lapply(numbers, function(v) c("low", "middle", "high")[v + 1]))
  expect_identical(blica(text, segment, 2, levels = c("low", "middle", "high"))$mixing, model$mixing)
  named <- blica(cbind(text["x1"], numbers[-1]), segment, 2, levels = list(x1 = c("low", "middle", "high")), ordinal = TRUE)
  expect_identical(named$mixing, model$mixing)
  expect_identical(named$levels$x1, c("low", "middle", "high"))
  expect_identical(blica(segment ~ ., drawn$data, k = 2)$mixing, model$mixing)
  expect_identical(blica(blica_count(items, segment), k = 2)$mixing, model$mixing)
  expect_gt(blica_compare(model, drawn$model)$mcs, 0.98)
  first <- numbers[segment == model$segments[1], 1]
  expect_equal(unname(model$thresholds[1:2, 1]), qnorm(c(mean(first >= 1), mean(first >= 2))), tolerance = 1e-9)
  expect_identical(dimnames(blica_correlate(items, segment)$thresholds), dimnames(model$thresholds))
  expect_identical(dim(blica_correlate(items, segment)$log_scale), c(5L, 6L))
  expect_null(blica_correlate(numbers > 0, segment)$log_scale)
})

test_that("columns may differ in their levels, and the model keeps them", {
  mixed <- items
  mixed$x1 <- as.integer(numbers$x1 > 0)
  mixed$x2 <- factor(numbers$x2 > 0, labels = c("no", "yes"))
  model <- suppressMessages(blica(mixed, segment, 2))
  expect_identical(lengths(model$levels, use.names = FALSE), c(2L, 2L, 3L, 3L, 3L))
  expect_identical(model$levels$x2, c("no", "yes"))
  file <- tempfile(fileext = ".json")
  blica_save(model, file)
  expect_identical(blica_load(file)$levels, model$levels)
  again <- simulate(model, 1, seed = 2)[[1]]
  expect_identical(levels(again$x2), c("no", "yes"))
  expect_true(is.integer(again$x1) && is.ordered(again$x3))
  expect_equal(mean(again$x3 == "2"), mean(mixed$x3 == "2"), tolerance = 0.15)
})

test_that("new data are coded by the levels of the model", {
  answers <- as.data.frame(lapply(numbers, function(v) ifelse(v > 0, "yes", "no")))
  model <- suppressMessages(blica(answers, segment, 2))
  plain <- blica(numbers > 0, segment, 2)
  one <- answers[1, ]
  one[1, ] <- c("yes", "no", "yes", "yes", "yes")
  expect_equal(unname(blica_sources(model, one)$mean), unname(blica_sources(plain, matrix(c(1, 0, 1, 1, 1), 1))$mean), tolerance = 1e-9)
  file <- tempfile(fileext = ".json")
  blica_save(model, file)
  expect_identical(blica_sources(blica_load(file), one)$mean, blica_sources(model, one)$mean)
  one$x2 <- "maybe"
  expect_error(blica_sources(model, one), "row 1, column 2 \\('x2'\\): value maybe is not one of its levels no<yes")
  expect_error(blica_loglik(model, numbers > 0, segment), "not one of its levels no<yes")
  expect_equal(unname(predict(model)[1:3, ]), unname(blica_sources(model, answers[1:3, ], segment[1:3])$mean), tolerance = 1e-12)
  short <- as.data.frame(lapply(numbers, function(v) ifelse(v > 0, ">=5", "<5")))
  written <- suppressMessages(blica(short, segment, 2)) # levels that no file can hold
  expect_equal(unname(blica_sources(written, short[1:3, ])$mean), unname(blica_sources(plain, (numbers > 0)[1:3, ])$mean))
})

test_that("levels that cannot be are refused", {
  expect_error(blica_count(numbers), "column 1 \\('x1'\\) has 3 different values \\(0, 1, 2\\).*ordinal = TRUE")
  expect_error(blica_count(numbers + 0.5, ordinal = TRUE), "0.5 is not a whole number")
  expect_error(blica_count(numbers * 0, ordinal = TRUE), "has 1 value; an item needs at least two levels")
  expect_error(blica_count(numbers, levels = 0:1), "value 2 is not one of its levels 0<1")
  expect_error(blica_count(numbers, levels = c("a", "b", "c")), "a number is not one of its levels a<b<c")
  expect_error(blica_count(numbers, levels = list(mood = 0:2)), "there is no column 'mood'")
  expect_error(blica_count(numbers, levels = c(0, 1, 1)), "occurs twice")
  expect_error(blica_count(as.data.frame(lapply(numbers, factor))), "make it an ordered factor")
  expect_error(blica_count(matrix(1:400, 200), ordinal = TRUE), "from 2 to 100 can be used", class = "blica_error")
})

test_that("polychoric correlations of a table and of data", {
  olsson <- as.table(matrix(c(13, 69, 41, 6, 113, 132, 0, 22, 104), 3))
  one <- blica_polychoric(olsson)
  expect_equal(one$rho, 0.4913712, tolerance = 2e-6) # psych 2.2.9
  expect_equal(one$tau$rows, c(-1.77438, -0.13577), tolerance = 1e-5)
  expect_equal(one$tau$columns, c(-0.68713, 0.66821), tolerance = 1e-5)
  all <- blica_polychoric(numbers)
  table <- blica_polychoric(table(numbers$x2, numbers$x5))
  expect_equal(all$rho["x2", "x5"], table$rho, tolerance = 1e-12)
  expect_equal(all$se["x2", "x5"], table$se, tolerance = 1e-9)
  expect_equal(all$tau$x1, qnorm(c(mean(numbers$x1 <= 0), mean(numbers$x1 <= 1))), tolerance = 1e-12)
  expect_identical(blica_polychoric(items)$rho, all$rho)
  cut <- (numbers > 0) * 1L
  expect_identical(unname(blica_polychoric(cut)$rho), unname(blica_tetrachoric(cut)$rho))
  expect_output(print(all), "x1: -?[0-9.]+ -?[0-9.]+")
  expect_error(blica_polychoric(as.table(c(a = 1, b = 2))), "two dimensions")
})

test_that("fitted values and assessments of items with levels", {
  model <- blica(items, segment, 2)
  labels <- names(model$cuts)
  expect_output(print(model), "Mixing matrix")
  expect_output(print(summary(model)), "Design: .*Change: .*Fit: .*SRMR .*Axes: ")
  expect_identical(dim(fitted(model)), c(5L, 5L, 6L))
  first <- numbers[segment == model$segments[1], ]
  observed <- as.vector(rbind(colMeans(first >= 1), colMeans(first >= 2)))
  expect_equal(fitted(model, "probabilities")[, 1], observed, tolerance = 0.2, ignore_attr = TRUE)
  found <- blica_assess(model, bootstrap = 0)
  expect_identical(names(found$cut_se), labels)
  expect_identical(dimnames(found$threshold_se), list(labels, model$segments))
  expect_identical(dimnames(found$mean_se), dimnames(model$means))
  expect_true(all(found$cut_se > 0 & found$cut_se < 1))
  expect_identical(blica_assess(model, numbers, segment, bootstrap = 0)$mixing_se, found$mixing_se)
})

test_that("rows of items with levels have sources and a likelihood", {
  model <- blica(items, segment, 2)
  found <- blica_sources(model, items, segment)
  expect_identical(unname(predict(model)), unname(found$mean))
  expect_equal(unname(blica_sources(model, numbers[5:1, ], segment[5:1])$mean), unname(found$mean[5:1, ]), tolerance = 1e-9)
  value <- logLik(model)
  expect_equal(sum(blica_loglik(model, items, segment)$row_loglik), as.numeric(value), tolerance = 1e-6)
  expect_equal(BIC(model), -2 * as.numeric(value) + model$parameters * log(3000), tolerance = 1e-9)
  # all patterns of three items, the others missing, have probability 1 together
  patterns <- expand.grid(x1 = 0:2, x2 = 0:2, x3 = 0:2, x4 = NA_integer_, x5 = NA_integer_)
  each <- blica_loglik(model, patterns, rep(model$segments[2], 27))$row_loglik
  expect_equal(sum(exp(each)), 1, tolerance = 1e-5)
  p <- predict(model, items[1:4, ], segment[1:4], type = "probability")
  expect_identical(colnames(p), names(model$cuts))
  expect_equal(unname(p[1, 3:4]), unname(pnorm(sqrt(model$link) * sum(model$mixing[2, ] * found$mean[1, ]) - model$cuts[3:4])))
  expect_identical(anova(model, blica(items, segment, 1))$sources, 1:2)
  expect_error(blica_sources(model, numbers + 1, segment), "value 3 is not one of its levels 0<1<2")
})

test_that("values that mean missing are missing, in the fit and in new data", {
  drawn <- blica_simulate(variables = 5, sources = 2, segments = 4, samples = 300, levels = 3, seed = 5)
  x <- as.data.frame(lapply(drawn$data[1:5], function(v) as.integer(as.character(v))))
  set.seed(1)
  hole <- matrix(runif(nrow(x) * 5) < 0.1, nrow(x))
  gone <- x
  x[hole] <- NA
  gone[hole] <- -9L
  segment <- drawn$data$segment
  first <- blica_count(gone, segment, ordinal = TRUE, missing = -9)
  second <- blica_count(x, segment, ordinal = TRUE)
  first$pointer <- second$pointer <- NULL
  expect_identical(first, second)
  expect_identical(blica_polychoric(as.matrix(gone), missing = "-9"), blica_polychoric(as.matrix(x)))
  model <- blica(gone, segment, 2, ordinal = TRUE, missing = c(-9, 99))
  expect_identical(model$mixing, blica(x, segment, 2, ordinal = TRUE)$mixing)
  expect_identical(blica_sources(model, gone, segment)$mean, blica_sources(model, x, segment)$mean)
  answer <- factor(rep(c("never", "often", "refused"), 20), c("never", "rarely", "often", "refused"), ordered = TRUE)
  counts <- blica_count(data.frame(a = answer, b = rep(c("no", "yes", "?"), 20)), missing = c("refused", "?"))
  expect_length(counts$variables, 3)
  expect_error(blica_count(Matrix::sparseMatrix(1:4, 1:4, x = 1), missing = -9), "not for a sparse matrix")
})

test_that("numbers are cut at quantiles, and new rows at the same numbers", {
  set.seed(3)
  z <- matrix(rnorm(4000), 2000) * exp(.8 * rep(rnorm(20), each = 200))
  q <- z %*% matrix(rnorm(12), 2) + rnorm(12000)
  d <- data.frame(income = exp(q[, 1]), time = q[, 2], score = round(100 * q[, 3]), a = +(q[, 4] > 0), b = +(q[, 5] > 0), c = +(q[, 6] > 0))
  s <- rep(1:10, each = 200)
  fit <- blica(d, s, k = 2, numeric = c("income", "time", "score"))
  expect_equal(lengths(fit$levels, use.names = FALSE), c(16, 16, 16, 2, 2, 2))
  cuts <- as.numeric(fit$levels[[1]])
  expect_true(cuts[1] == -Inf && all(cuts[-1] %in% d$income))
  expect_equal(mean(d$income < cuts[9]), .5, tolerance = .01)
  high <- top <- d[1:20, ]
  high$income <- 1e9
  top$income <- cuts[16]
  expect_identical(predict(fit, high), predict(fit, top))
  file <- tempfile(fileext = ".json")
  blica_save(fit, file)
  expect_identical(unname(predict(blica_load(file), d[1:20, ])), unname(predict(fit, d[1:20, ])))
  own <- blica_count(d, s, levels = list(income = c(-Inf, .5, 2), time = c(-Inf, 0), score = c(-Inf, 0)))
  expect_equal(own$variables[1:2], c("income[-Inf<0.5<2]>=1", "income[-Inf<0.5<2]>=2"))
  expect_error(blica(d, s, k = 2, numeric = "wages"), "there is no column 'wages'")
  expect_error(blica(transform(d, income = 1), s, k = 2, numeric = c("income", "time", "score")), "'income': it has 1 different numbers")
  expect_error(blica(d, s, k = 2, numeric = "income"), "'time'\\) has .* different values")
})
