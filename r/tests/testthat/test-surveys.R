# Weights and clusters of rows, and items that differ between segments.
drawn <- blica_simulate(variables = 6, sources = 2, segments = 8, samples = 400, seed = 5)
x <- as.matrix(drawn$data[1:6])
segment <- as.character(drawn$data$segment)

test_that("weights count relative to each other", {
  w <- exp(sin(seq_len(nrow(x))))
  model <- blica(x, segment, k = 2, weights = w)
  first <- segment == segment[1]
  expect_equal(unname(model$samples[1]), sum(w[first])^2 / sum(w[first]^2), tolerance = 1e-5)
  expect_identical(blica(x, segment, k = 2, weights = 8 * w)$mixing, model$mixing)
  expect_identical(blica(x, segment, k = 2, weights = rep(2, nrow(x)))$mixing, blica(x, segment, k = 2)$mixing)
  expect_error(blica(x, segment, k = 2, weights = replace(w, 3, 0)), "row 3: its weight is 0")
  expect_error(blica(x, segment, k = 2, weights = 1:2), "weights has 2 values")
})

test_that("clusters widen errors", {
  set.seed(1)
  person <- sample(rep(seq_len(nrow(x)), 4))
  model <- blica(x[person, ], segment[person], k = 2)
  rows <- blica_assess(model, bootstrap = 0)
  clusters <- blica_assess(model, bootstrap = 0, cluster = person)
  ratio <- median(clusters$mixing_se / rows$mixing_se)
  expect_true(ratio > 1.7 && ratio < 2.3)
  expect_error(blica_assess(model, cluster = rep(1, length(person))), "of one cluster but of the segments")
})

test_that("strata leave what varies within them", {
  model <- blica(x, segment, k = 2)
  plain <- blica_assess(model, bootstrap = 0)
  expect_identical(blica_assess(model, bootstrap = 0, strata = rep("all", nrow(x)))$mixing_se, plain$mixing_se)
  item <- blica_assess(model, bootstrap = 0, strata = x[, 1])
  expect_identical(item$rows[["strata"]], 2 * length(model$segments))
  expect_true(all(item$threshold_se[1, ] < 1e-6 * plain$threshold_se[1, ]))
  expect_false(identical(blica_invariance(model, strata = x[, 1]), blica_invariance(model)))
  expect_error(blica_assess(model, cluster = match(segment, unique(segment)), strata = x[, 1]), "different strata")
  expect_error(blica_assess(model, strata = 1:2), "strata has 2 values")
})

test_that("an item that differs is named", {
  here <- which(segment == segment[length(segment)])
  x[here[c(TRUE, FALSE)], 3] <- 1L
  model <- blica(x, segment, k = 2)
  found <- blica_invariance(model)
  first <- found[found$found == 1 & found$kind == "cuts", ]
  expect_identical(first$item, model$variables[3])
  expect_identical(first$segment, as.character(segment[length(segment)]))
  expect_lt(first$effect, -0.2)
  expect_lt(first$p_adjusted, 0.05)
  expect_true(is.na(found$segment[1]) && found$item[1] == model$variables[3])
})

test_that("items are estimated apart", {
  last <- as.character(segment[length(segment)])
  x[which(segment == segment[length(segment)])[c(TRUE, FALSE)], 3] <- 1L
  model <- blica(x, segment, k = 2, free = "auto")
  found <- vapply(model$free, function(f) paste0(f$item, "@", f$segment), "")
  expect_true(paste0(model$variables[3], "@", last) %in% found)
  named <- blica(x, segment, k = 2, free = c(paste0("cuts:", model$variables[3], "@", last), paste0(model$variables[1], "@", segment[1])))
  expect_identical(vapply(named$free, function(f) is.null(f$mixing), NA), c(FALSE, TRUE))
  expect_length(named$free[[1]]$mixing, 2)
  expect_lt(named$free[[2]]$cuts, named$cuts[[3]] - .2)
  expect_output(print(named), "has its own cuts and loadings")
  expect_error(blica(x, segment, k = 2, free = "nobody"), "names no item")
})

test_that("replicate weights are refits", {
  set.seed(2)
  group <- sample(6, nrow(drawn$data), TRUE)
  y <- as.matrix(drawn$data[1:6])
  model <- blica(y, segment, k = 2)
  ones <- rep(1, nrow(y))
  weights <- sapply(1:6, function(g) 1.2 * (group != g))
  found <- blica_assess(model, weights = ones, replicate_weights = weights, replicate_method = "jk1")
  expect_identical(found$rows[["replicates"]], 6)
  share <- function(w) sapply(colnames(model$thresholds), function(s) colSums((w * y)[segment == s, ]) / sum(w[segment == s]))
  squares <- Reduce(`+`, lapply(1:6, function(r) (qnorm(share(weights[, r])) - model$thresholds)^2))
  expect_equal(found$threshold_se, sqrt(5 / 6 * squares), tolerance = 1e-6, ignore_attr = TRUE)
  numbers <- blica_assess(model, weights = ones, replicate_weights = as.data.frame(weights), replicate_method = rep(5 / 6, 6))
  expect_equal(numbers$mixing_se, found$mixing_se, tolerance = 1e-12)
  expect_error(blica_assess(model, replicate_weights = weights, replicate_method = "jk1"), "belong together")
  expect_error(blica_assess(model, weights = ones, replicate_weights = weights), "belong together")
  expect_error(blica_assess(model, weights = ones, replicate_weights = weights[1:9, ], replicate_method = "jk1"), "has 9 rows")
  expect_error(blica_assess(model, weights = ones, replicate_weights = weights, replicate_method = "jk9"), "give jk1, brr")
})
