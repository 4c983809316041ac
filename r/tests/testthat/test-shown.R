drawn <- blica_simulate(variables = 7, sources = 2, segments = 6, samples = 300, seed = 5)
fit <- blica(segment ~ ., drawn$data, k = 2)
found <- blica_assess(fit, bootstrap = 0)

test_that("data frames have errors", {
  d <- as.data.frame(found)
  expect_identical(names(d), c("variable", "source", "loading", "standardised", "std.error", "conf.low", "conf.high"))
  row <- d[d$variable == "x4" & d$source == "z2", ]
  expect_identical(c(row$loading, row$std.error, row$conf.low), c(fit$mixing["x4", "z2"], found$mixing_se["x4", "z2"], found$mixing_low["x4", "z2"]), ignore_attr = TRUE)
  v <- as.data.frame(found, what = "variances")
  expect_identical(v$conf.high, as.vector(found$variance_high))
  m <- as.data.frame(found, what = "means")
  expect_equal((m$conf.high - m$conf.low) / m$std.error, rep(2 * qnorm(0.975), 12))
})

test_that("standardised loadings and communalities belong together", {
  share <- fit$samples / sum(fit$samples)
  signal <- fit$link * sweep(fit$mixing^2, 2, drop(fit$variances %*% share), `*`)
  expect_equal(coef(fit, "communalities"), rowSums(signal) / (1 + rowSums(signal)))
  expect_equal(rowSums(coef(fit, "standardised")^2), coef(fit, "communalities"))
})

test_that("tidy, glance and augment are methods of package generics", {
  skip_if_not_installed("generics")
  long <- generics::tidy(fit, conf.int = TRUE, bootstrap = 0)
  expect_identical(long$term, rownames(confint(fit, bootstrap = 0)))
  expect_equal(unname(as.matrix(long[c("conf.low", "conf.high")])), unname(confint(fit, bootstrap = 0)))
  expect_identical(unique(long$component), c("mixing", "variances", "means", "cuts"))
  one <- generics::glance(fit, bootstrap = 0)
  expect_identical(nrow(one), 1L)
  expect_equal(c(one$logLik, one$BIC, one$expected.mcs), c(as.numeric(logLik(fit)), BIC(fit), found$expected_mcs))
  rows <- generics::augment(fit, drawn$data)
  expect_identical(rows[names(drawn$data)], drawn$data)
  expect_equal(rows$.fitted_z2, unname(predict(fit)[, 2]))
  expect_equal(generics::augment(fit)$.se.fit_z1, unname(predict(fit, type = "sd")[, 1]))
  expect_identical(nrow(generics::augment(fit, newdata = drawn$data[1:9, 1:7])), 9L)
  expect_error(generics::augment(fit, drawn$data[1:5, ]), "data has 5 rows, the fit has 1800")
})

test_that("plots draw on every device and leave its settings as they were", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  before <- par(c("mar", "mfrow", "oma"))
  for (which in c("loadings", "mixing", "variances", "means", "starts")) plot(fit, which)
  for (which in c("loadings", "variances", "means")) expect_invisible(plot(found, which))
  towns <- c("Kiel", "Bonn", "Jena", "Gera", "Suhl", "Ulm")[as.integer(drawn$data$segment)]
  expect_false(blica:::segments_ordered(blica(drawn$data[1:7], towns, 2)))
  expect_true(blica:::segments_ordered(blica(drawn$data[1:7], factor(towns, unique(towns), ordered = TRUE), 2)))
  expect_true(blica:::segments_ordered(fit))
  plot(blica(drawn$data[1:7], towns, 2), "variances")
  expect_identical(par(c("mar", "mfrow", "oma")), before)
  grDevices::dev.off()
  expect_gt(file.size(file), 5000)
  expect_error(plot(fit, "means", assessment = 3), "assessment is a numeric; give what blica_assess\\(\\) returns")
})

test_that("ggplot2 draws loadings when it is there", {
  skip_if_not_installed("ggplot2")
  built <- ggplot2::ggplot_build(ggplot2::autoplot(fit, found))
  expect_identical(nrow(built$data[[2]]), 14L)
  expect_setequal(built$data[[2]]$xmin, as.vector(found$mixing_low))
})

test_that("a report is written by the program", {
  path <- Sys.getenv("PATH")
  on.exit(Sys.setenv(PATH = path))
  Sys.setenv(PATH = tempdir())
  expect_error(blica_report(fit), "not on the path; install it")
  Sys.setenv(PATH = paste(dirname(Sys.getenv("BLICA")), path, sep = .Platform$path.sep))
  skip_if(Sys.which("blica") == "", "the program is not here")
  file <- tempfile(fileext = ".html")
  expect_identical(blica_report(fit, file), file)
  page <- paste(readLines(file), collapse = "\n")
  expect_match(page, "1800|1,800")
  expect_match(page, "SRMR")
  scales <- blica_simulate(variables = 5, sources = 2, segments = 6, samples = 150, levels = 3, seed = 4)
  blica_report(blica(segment ~ ., scales$data, k = 2), file)
  expect_match(paste(readLines(file), collapse = "\n"), "SRMR")
  expect_error(blica_report(fit, file.path(tempdir(), "no", "report.html")), "no/report.html")
})

test_that("there is one assessment, which the model keeps", {
  skip_if_not_installed("generics")
  own <- blica(segment ~ ., drawn$data, k = 2)
  expect_identical(names(as.data.frame(own)), c("variable", "source", "loading", "standardised"))
  first <- blica_assess(own, bootstrap = 20)
  errors <- unname(c(first$mixing_se, first$log_variance_se))
  expect_identical(summary(own)$assessment, first)
  expect_equal(unname(sqrt(diag(vcov(own)))), errors)
  half <- unname(confint(own)[, 2] - confint(own)[, 1]) / 2 / qnorm(0.975)
  expect_equal(half[seq_along(errors)], errors)
  expect_equal(generics::tidy(own)$std.error[seq_along(errors)], errors)
  expect_identical(as.data.frame(own), as.data.frame(first))
  expect_identical(generics::glance(own)$expected.mcs, first$expected_mcs)
  # what is kept is what is shown: none of these assesses again
  own$kept$found$expected_mcs <- 0.5
  expect_identical(blica_assess(own, bootstrap = 20)$expected_mcs, 0.5)
  expect_identical(blica_assess(own, drawn$data[1:7], drawn$data$segment, bootstrap = 20)$expected_mcs, 0.5)
  expect_identical(summary(own)$assessment$expected_mcs, 0.5)
  copy <- own
  saved <- tempfile()
  saveRDS(own, saved)
  again <- readRDS(saved)
  for (model in list(copy, again)) expect_identical(generics::glance(model)$expected.mcs, 0.5)
  # other options, rows, weights and fits
  expect_false(blica_assess(own, bootstrap = 0)$expected_mcs == 0.5)
  expect_identical(generics::glance(again)$expected.mcs, 0.5)
  turned <- drawn$data[rev(seq_len(nrow(drawn$data))), ]
  expect_false(blica_assess(again, turned[1:7], turned$segment, bootstrap = 20)$expected_mcs == 0.5)
  weighted <- blica_assess(again, weights = rep(c(1, 3), 900), bootstrap = 0)
  expect_lt(weighted$rows[["number"]], 1800)
  expect_identical(blica_assess(again, cluster = rep(1:900, each = 2), bootstrap = 0)$rows[["clusters"]], 900)
  expect_null(blica:::kept_assessment(update(own)))
})

test_that("a report shows the assessment that is kept", {
  path <- Sys.getenv("PATH")
  on.exit(Sys.setenv(PATH = path))
  Sys.setenv(PATH = paste(dirname(Sys.getenv("BLICA")), path, sep = .Platform$path.sep))
  skip_if(Sys.which("blica") == "", "the program is not here")
  own <- blica(as.matrix(drawn$data[1:7]), drawn$data$segment, 2, weights = rep(c(1, 3), 900))
  blica_assess(own, bootstrap = 0)
  own$kept$found$verdict[[4]] <- "Axes: \"as\\ they are kept.\t"
  file <- tempfile(fileext = ".html")
  shown <- function(...) any(grepl("they are kept", readLines(blica_report(own, file, ...)), fixed = TRUE))
  expect_true(shown())
  expect_true(shown(x = drawn$data[1:7], segment = drawn$data$segment, weights = rep(c(1, 3), 900)))
  expect_match(paste(readLines(file), collapse = "\n"), "--weights weights")
  own$data <- NULL
  expect_true(shown())
  expect_false(shown(x = drawn$data[1:7], segment = drawn$data$segment))
})

test_that("the file of an assessment has the numbers of the program", {
  skip_if(Sys.getenv("BLICA") == "", "the program is not here")
  folder <- tempfile()
  dir.create(folder)
  for (levels in c(2, 3)) {
    drawn <- blica_simulate(variables = 6, sources = 2, segments = 6, samples = 200, seed = 5, levels = levels)
    data <- drawn$data
    own <- blica(data[1:6], data$segment, 2)
    blica_save(own, file.path(folder, "model.json"))
    data[1:6] <- lapply(data[1:6], as.character)
    utils::write.csv(data, file.path(folder, "data.csv"), row.names = FALSE)
    blica:::write_assessment(file.path(folder, "own.json"), blica_assess(own, bootstrap = 20))
    run <- function(...) system2(Sys.getenv("BLICA"), shQuote(c(..., "--quiet")), stdout = TRUE)
    model <- file.path(folder, "model.json")
    run("assess", model, file.path(folder, "data.csv"), "--bootstrap", "20", "--out", file.path(folder, "program.json"))
    page <- function(name) {
      run("report", model, "--assessment", file.path(folder, paste0(name, ".json")), "--out", file.path(folder, "page.html"))
      gsub(paste0(name, "[.]json"), "", readLines(file.path(folder, "page.html")))
    }
    expect_identical(page("own"), page("program"))
  }
})
