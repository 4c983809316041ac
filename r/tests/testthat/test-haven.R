# Columns as haven reads them: codes with labels, codes that mean missing, questions.
skip_if_not_installed("haven")
drawn <- blica_simulate(variables = 5, sources = 2, segments = 4, samples = 300, seed = 3)
codes <- drawn$data[1:5]
codes$x3[11:17] <- 9
sum <- codes$x4 + 2 * codes$x5
frame <- data.frame(x1 = haven::labelled(codes$x1, c(No = 0, Yes = 1), label = "Do you smoke?"), x2 = codes$x2,
                    x3 = haven::labelled_spss(as.double(codes$x3), c(No = 0, Yes = 1, Refused = 9), na_values = 9),
                    mood = haven::labelled(10 * sum, c(Low = 0, Fair = 20, High = 30)), # 10 has no label
                    again = haven::labelled(codes$x5, c(Off = 0, Off = 1)))
wave <- haven::labelled(as.double(drawn$data$segment), c(spring = 1, summer = 2))
plain <- data.frame(x1 = ordered(c("No", "Yes")[codes$x1 + 1]), x2 = codes$x2,
                    x3 = ordered(c("No", "Yes")[ifelse(codes$x3 == 9, NA, codes$x3) + 1]),
                    mood = factor(c("Low", "10", "Fair", "High")[sum + 1], c("Low", "10", "Fair", "High"), ordered = TRUE),
                    again = ordered(sprintf("Off (%d)", codes$x5)))
seasons <- factor(c("spring", "summer", "3", "4")[as.integer(as.character(drawn$data$segment))], c("spring", "summer", "3", "4"))

test_that("labelled columns are ordered levels by the labels of their codes", {
  fit <- blica(frame, wave, 2)
  same <- blica(plain, seasons, 2)
  for (part in c("mixing", "variances", "means", "cuts", "levels", "segments", "samples")) expect_identical(fit[[part]], same[[part]])
  expect_identical(fit$levels$mood, c("Low", "10", "Fair", "High"))
  expect_identical(fit$labels, c("Do you smoke?", "", "", "", ""))
  expect_output(print(fit), "x1 .* Do you smoke\\?")
  expect_identical(predict(fit, frame[1:20, ], wave[1:20]), predict(fit, plain[1:20, ], seasons[1:20]))
  expect_identical(blica(frame, wave, 2, ordinal = TRUE)$mixing, fit$mixing)
})

test_that("codes given as missing, and labelled numbers", {
  fit <- blica(frame, wave, 2, missing = 10)
  expect_identical(fit$levels$mood, c("Low", "Fair", "High"))
  income <- haven::labelled_spss(c(rnorm(nrow(frame) - 5), rep(-99, 5)), c(refused = -99), na_values = -99)
  with_income <- cbind(frame[1:3], income = income)
  numbers <- cbind(plain[1:3], income = ifelse(income == -99, NA, as.vector(income)))
  expect_identical(blica(with_income, wave, 2, numeric = "income")$mixing, blica(numbers, seasons, 2, numeric = "income")$mixing)
})

test_that("the program reads the same from the file", {
  skip_if(Sys.getenv("BLICA") == "", "the program is not here")
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "s.sav")
  haven::write_sav(cbind(frame[1:4], wave = wave), file)
  saved <- file.path(folder, "m.json")
  system2(Sys.getenv("BLICA"), c("fit", file, "--segment-column", "wave", "--sources", "2", "--out", saved, "--quiet"), stderr = TRUE)
  skip_if(!file.exists(saved), "the program was built without ReadStat")
  read <- haven::read_sav(file, user_na = TRUE)
  fit <- blica(as.data.frame(read[1:4]), read$wave, 2)
  program <- blica_load(saved)
  for (part in c("mixing", "variances", "means", "cuts", "levels", "labels")) expect_identical(fit[[part]], program[[part]])
})
