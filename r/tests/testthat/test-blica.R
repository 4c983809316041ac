drawn <- blica_simulate(variables = 6, sources = 2, segments = 8, samples = 400, seed = 5)
rows <- as.matrix(drawn$data[1:6])
segment <- drawn$data$segment
fit <- blica(rows, segment, 2)

test_that("kinds of data give the same doubles", {
  expect_gt(blica_compare(fit, drawn$model)$mcs, 0.95)
  same <- function(other) expect_identical(unname(other$mixing), unname(fit$mixing))
  same(blica(drawn$data[1:6], segment, 2))
  same(blica(segment ~ ., drawn$data, 2))
  same(blica(segment ~ x1 + x2 + x3 + x4 + x5 + x6, drawn$data, 2))
  same(blica(rows == 1, as.character(segment), 2, threads = 1))
  suppressMessages(same(blica(rows + 1, segment, 2, threads = 7)))
  labels <- as.data.frame(ifelse(rows == 1, "yes", "no"), stringsAsFactors = TRUE)
  suppressMessages(same(blica(labels, segment, 2)))
  with_group <- cbind(drawn$data[1:6], school = segment)
  same(blica(~ . | school, with_group, 2))
  same(blica(~ ., with_group, 2, group = "school"))
  same(blica(~ x1 + x2 + x3 + x4 + x5 + x6, with_group, 2, group = segment))
  same(blica(~ x1 + x2 + x3 + x4 + x5 + x6 | school, with_group, 2))
  names(with_group)[2] <- "a longer name"
  same(blica(~ . | school, with_group, 2))
  expect_error(blica(school ~ ., with_group, 2, group = "school"), "more than once")
  expect_error(blica(~ ., with_group, 2, group = "class"), "'class', which is not a column")
  skip_if_not_installed("Matrix")
  same(blica(Matrix::Matrix(rows, sparse = TRUE) * 1, segment, 2))
  wrong <- Matrix::Matrix(rows, sparse = TRUE) * 2
  expect_error(blica(wrong, segment, 2), "value 2 is not 0, 1 or NA")
})

test_that("segments keep the order of a factor", {
  turned <- factor(segment, levels = c("none", rev(levels(segment))))
  expect_identical(blica_count(rows, turned)$segments, rev(levels(segment)))
  expect_identical(blica_count(rows, as.character(turned))$segments, unique(as.character(segment)))
})

test_that("what became 0 and 1 is said", {
  text <- as.data.frame(ifelse(rows == 1, "Disagree", "Agree"))
  expect_message(blica(text, segment, 2), "'Agree' is 0 and 'Disagree' is 1: x1, x2, x3, x4, x5, ... \\(6 variables\\)", class = "blica_message")
  expect_message(blica(cbind(rows[, -1], last = rows[, 1] + 1), segment, 2), "'1' is 0 and '2' is 1: last", class = "blica_message")
  expect_silent(blica(rows, segment, 2))
})

test_that("update changes the call", {
  fit <- blica(segment ~ ., drawn$data, k = 2)
  expect_identical(update(fit, k = 1)$mixing, blica(rows, segment, 1)$mixing, ignore_attr = TRUE)
  expect_identical(rownames(update(fit, . ~ . - x3)$mixing), c("x1", "x2", "x4", "x5", "x6"))
  expect_identical(update(fit, starts = 5, evaluate = FALSE)$starts, 5)
  by_matrix <- blica(rows, segment, k = 2)
  expect_identical(dim(update(by_matrix, k = 1)$mixing), c(6L, 1L))
  expect_error(update(by_matrix, . ~ . - x1), "not fitted by a formula")
  expect_error(update(drawn$model, k = 1), "not fitted here")
})

test_that("tidy data frames", {
  long <- as.data.frame(fit)
  expect_identical(names(long), c("variable", "source", "loading", "standardised"))
  expect_identical(long$loading[long$variable == "x4" & long$source == "z2"], fit$mixing["x4", "z2"])
  long <- as.data.frame(fit, what = "variances")
  expect_identical(dim(long), c(16L, 3L))
  expect_identical(levels(long$segment), fit$segments)
  expect_identical(long$variance[long$segment == "3" & long$source == "z1"], fit$variances["z1", "3"])
})

test_that("roll calls of pscl", {
  votes <- t(ifelse(rows == 1, 1, 6))
  votes[2, 5] <- 9
  calls <- structure(list(votes = votes, codes = list(yea = 1:3, nay = 4:6, notInLegis = 0, missing = c(7:9, NA)),
                          vote.data = data.frame(term = segment)), class = "rollcall")
  x <- rows
  x[5, 2] <- NA
  expect_identical(blica(calls, "term", 2)$mixing, blica(x, segment, 2)$mixing)
  expect_identical(blica(calls, segment, 2)$mixing, blica(x, segment, 2)$mixing)
  expect_error(blica(calls, "year", 2), "'year', which is not a column of vote.data")
})

test_that("a decimal comma changes nothing", {
  old <- Sys.getlocale("LC_NUMERIC")
  on.exit(suppressWarnings(Sys.setlocale("LC_NUMERIC", old)))
  found <- suppressWarnings(Sys.setlocale("LC_NUMERIC", "de_DE.UTF-8"))
  skip_if(found == "", "there is no locale de_DE.UTF-8")
  expect_identical(sprintf("%.1f", 0.5), "0,5")
  comma <- suppressWarnings(blica(rows, segment, 2, link = 0.5, prior_mixing = 2.5, prior = "fixed"))
  likelihood <- blica_loglik(comma, rows, segment, error = 0.25)$total
  suppressWarnings(Sys.setlocale("LC_NUMERIC", "C"))
  expect_identical(comma$mixing, blica(rows, segment, 2, link = 0.5, prior_mixing = 2.5, prior = "fixed")$mixing)
  expect_identical(comma$link, 0.5)
  expect_identical(likelihood, blica_loglik(comma, rows, segment, error = 0.25)$total)
})

test_that("a model survives files and sessions", {
  file <- tempfile(fileext = ".json")
  blica_save(fit, file)
  expect_identical(blica_load(file)$mixing, fit$mixing)
  rds <- tempfile()
  saveRDS(fit, rds)
  again <- readRDS(rds)
  expect_identical(predict(again), predict(fit))
})

test_that("print, summary, coef, plot", {
  expect_output(print(fit), "6 variables, 2 sources, 8 segments, 3200 rows")
  expect_output(print(summary(fit)), "Design: 8 segments of 6 variables can determine 2 sources if their variances change \\(rank 26 of 26\\)")
  expect_identical(coef(fit), fit$mixing)
  expect_identical(dim(coef(fit, "variances")), c(2L, 8L))
  expect_identical(colnames(coef(fit)), c("z1", "z2"))
  grDevices::pdf(NULL)
  for (which in c("mixing", "variances", "starts")) expect_identical(plot(fit, which), fit)
  grDevices::dev.off()
})

test_that("fitted and residuals are those of the model", {
  exact <- blica_simulate(variables = 5, sources = 2, segments = 10, exact = TRUE, seed = 2)
  model <- blica(exact$counts, k = 2)
  expect_lt(max(abs(residuals(model))), 1e-6)
  expect_lt(max(abs(residuals(model, "probabilities"))), 1e-6)
  a <- fit$mixing
  m <- diag(6) + fit$link * a %*% diag(fit$variances[, 3]) %*% t(a)
  expect_equal(fitted(fit)[, , 3], cov2cor(m), tolerance = 1e-12, ignore_attr = TRUE)
})

test_that("predict gives posterior means", {
  z <- predict(fit)
  expect_identical(dim(z), c(3200L, 2L))
  sd <- predict(fit, type = "sd")
  expect_true(all(sd > 0))
  # law of total variance in a large segment: var of means + mean of variances = v
  here <- segment == fit$segments[2]
  expect_equal(unname(apply(z[here, ], 2, var) + colMeans(sd[here, ]^2)), unname(fit$variances[, 2]), tolerance = 0.15)
  expect_equal(predict(fit, drawn$data[1:5, ], segment[1:5]), z[1:5, ], tolerance = 1e-6, ignore_attr = TRUE)
  expect_identical(dim(predict(fit, rows[1:4, ])), c(4L, 2L)) # segments unknown
  # rows without a segment, and with one that the model does not know
  unknown <- predict(fit, rows[1:4, ])
  expect_equal(predict(fit, rows[1:4, ], c(NA, NA, segment[3:4])), rbind(unknown[1:2, ], z[3:4, ]), ignore_attr = TRUE)
  expect_warning(winter <- predict(fit, rows[1:4, ], rep("winter", 4)), "1 of the segments \\(winter\\) were not in the fit")
  expect_equal(winter, unknown)
  draws <- predict(fit, rows[1:50, ], segment[1:50], type = "draws", draws = 400)
  expect_identical(dim(draws), c(50L, 400L, 2L))
  expect_lt(max(abs(apply(draws, c(1, 3), mean) - z[1:50, ]) / sd[1:50, ]), 0.25)
  expect_identical(dim(predict(fit, rows[1:3, ], type = "draws")), c(3L, 5L, 2L))
  p <- predict(fit, type = "probability")
  expect_true(all(p > 0 & p < 1) && cor(p[, 1], rows[, 1]) > 0.5)
  expect_error(predict(fit, rows[, 1:3]), "x has 3 variables, the model has 6")
})

test_that("logLik is the sum over patterns, and AIC and BIC follow", {
  l <- logLik(fit)
  expect_equal(attr(l, "df"), 6 * 2 + 2 * 8 * 2 - 2 + 6 - 2)
  expect_output(print(l), "df=46, numerical error [0-9.e-]+\\)")
  expect_true(attr(l, "error") < 0.5)
  expect_equal(sum(blica_loglik(fit, rows, segment)$row_loglik), as.numeric(l), tolerance = 1e-8)
  expect_equal(AIC(fit), -2 * as.numeric(l) + 2 * 46)
  expect_equal(BIC(fit), -2 * as.numeric(l) + log(3200) * 46)
  # one row by brute force: integrate over two independent sources
  s <- 4
  x <- rows[segment == fit$segments[s], ][1, ]
  g <- seq(-8, 8, length.out = 401)
  z <- expand.grid(g, g)
  w <- dnorm(z[, 1]) * dnorm(z[, 2]) * (g[2] - g[1])^2
  zz <- sweep(sweep(as.matrix(z), 2, sqrt(fit$variances[, s]), "*"), 2, fit$means[, s], "+")
  p <- pnorm(sweep(sqrt(fit$link) * zz %*% t(fit$mixing), 2, fit$cuts))
  direct <- log(sum(w * apply(sweep(p, 2, x, function(p, x) ifelse(x == 1, p, 1 - p)), 1, prod)))
  ours <- blica_loglik(fit, t(x), fit$segments[s])
  expect_equal(ours$total, direct, tolerance = 1e-6)
  expect_error(blica_loglik(fit, rows), "give those of the rows")
})

test_that("simulate draws from the model", {
  a <- simulate(fit, 2, seed = 3)
  expect_identical(a, simulate(fit, 2, seed = 3))
  expect_false(identical(a[[1]], a[[2]]))
  expect_identical(as.vector(table(a[[1]]$segment)), as.vector(table(segment)))
  expect_equal(colMeans(a[[1]][1:6]), colMeans(rows), tolerance = 0.1)
})

test_that("a checkpoint gives the fit again, and no other", {
  file <- tempfile()
  kept <- blica(rows, segment, 2, checkpoint = file, checkpoint_seconds = 0)
  expect_identical(kept$mixing, fit$mixing)
  expect_true(file.exists(file))
  expect_error(blica(rows, segment, 2, checkpoint = file), "exists already")
  expect_error(blica(rows, segment, 2, checkpoint = file, resume = TRUE, starts = 4), "was made with starts 3, this fit has starts 4")
  expect_error(blica(1 - rows, segment, 2, checkpoint = file, resume = TRUE), "differ")
  expect_identical(blica(rows, segment, 2, checkpoint = file, resume = TRUE)$mixing, fit$mixing)
})

test_that("missing values", {
  x <- rows
  x[cbind(seq_len(nrow(x)), rep_len(1:6, nrow(x)))[seq_len(nrow(x)) %% 3 == 0, ]] <- NA
  model <- blica(x, segment, 2)
  expect_gt(blica_compare(model, drawn$model)$mcs, 0.9)
  expect_false(anyNA(predict(model)))
  expect_true(is.finite(logLik(model)))
})

test_that("one segment is refused as by the program; not converged warns; progress is a message; a handler can stop the fit", {
  expect_error(blica(rows, k = 2), "one segment.*allow_unidentified = TRUE")
  expect_error(blica(blica_count(rows), k = 2), "one segment.*allow_unidentified = TRUE")
  expect_warning(blica(rows, k = 2, allow_unidentified = TRUE), "not identified", class = "blica_warning")
  expect_warning(blica(rows, segment, 6, max_iterations = 2), "did not converge", class = "blica_warning")
  big <- blica_simulate(variables = 30, sources = 30, segments = 40, samples = 200)
  caught <- tryCatch(blica(segment ~ ., big$data, 30, starts = 100, threads = 1, verbose = TRUE), message = function(m) conditionMessage(m))
  expect_match(caught, "blica ")
})

test_that("a user interrupt stops a fit", {
  skip_on_os("windows")
  big <- blica_simulate(variables = 40, sources = 40, segments = 40, samples = 200)
  pid <- Sys.getpid()
  running <- tempfile("running") # made by the first message of the fit
  system(sprintf("(until [ -e %s ]; do kill -0 %d || exit; sleep 0.1; done; kill -INT %d) &", running, pid, pid))
  caught <- tryCatch(
    withCallingHandlers({ blica(segment ~ ., big$data, 40, starts = 1000, threads = 1, verbose = TRUE); "finished" },
                        message = function(m) { file.create(running); invokeRestart("muffleMessage") }),
    interrupt = function(c) "interrupted")
  expect_identical(caught, "interrupted")
})

test_that("a user interrupt keeps the refits that are finished", {
  skip_on_os("windows")
  some <- blica_simulate(variables = 6, sources = 2, segments = 8, samples = 300)
  model <- blica(segment ~ ., some$data, 2)
  pid <- Sys.getpid()
  running <- tempfile("running") # made by the sixth message of the bootstrap
  system(sprintf("(until [ -e %s ]; do kill -0 %d || exit; sleep 0.1; done; kill -INT %d) &", running, pid, pid))
  told <- 0
  expect_warning(
    found <- withCallingHandlers(
      blica_assess(model, bootstrap = 100000, threads = 1, verbose = TRUE),
      message = function(m) {
        told <<- told + grepl("bootstrap draw", conditionMessage(m))
        if (told == 6) file.create(running)
        invokeRestart("muffleMessage")
      }),
    "interrupted; numbers are those of [0-9]+ of 100000 refits", class = "blica_warning")
  expect_true(found$draws >= 20 && found$draws < found$draws_planned)
  expect_true(all(is.finite(found$mixing_se_bootstrap)))
})

test_that("forked children compute", {
  skip_on_os("windows")
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(c(%s))", paste(deparse(.libPaths()), collapse = "")), "library(blica)",
               "d <- blica_simulate(variables = 4, sources = 2, segments = 8, samples = 200)$data",
               "one <- function(i) blica(segment ~ ., d, 2, threads = 3)$mixing",
               "expected <- one(0)",
               "found <- parallel::mclapply(1:4, one, mc.cores = 2)",
               "cat(all(vapply(found, identical, NA, expected)))"), script)
  said <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = TRUE, timeout = 120)
  expect_identical(said, "TRUE")
})

test_that("a process outlives the unloading of the package's code", {
  code <- c("d <- blica::blica_simulate(variables = 8, sources = 2, segments = 8, samples = 200)",
            "model <- blica::blica(segment ~ ., d$data, k = 2, threads = 4)",
            "library.dynam.unload('blica', system.file(package = 'blica'))",
            "cat('alive')", "q(runLast = FALSE)")
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", deparse(dirname(system.file(package = "blica")))), code), script)
  said <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = TRUE, stderr = TRUE,
                                   env = "OMP_WAIT_POLICY=active"))
  expect_null(attr(said, "status"), info = paste(said, collapse = "\n"))
  expect_match(paste(said, collapse = " "), "alive")
})

test_that("predict takes the segment from the column that the formula names, and does without it", {
  frame <- data.frame(rows, wave = segment)
  for (formula in list(wave ~ ., ~ . | wave)) {
    model <- blica(formula, frame, k = 2)
    known <- predict(model, frame[1:20, ])
    expect_equal(known, predict(model, frame[1:20, names(frame) != "wave"], frame$wave[1:20]))
    unknown <- predict(model, frame[1:20, names(frame) != "wave"])
    expect_false(isTRUE(all.equal(known, unknown)))
    expect_identical(rownames(unknown), rownames(frame)[1:20])
    expect_identical(dimnames(predict(model, frame[1:20, ], type = "draws", draws = 3)), list(rownames(frame)[1:20], NULL, c("z1", "z2")))
  }
})
