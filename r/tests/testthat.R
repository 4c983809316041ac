library(testthat)
library(blica)
test_check("blica")
