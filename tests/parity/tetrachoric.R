# Called by tetrachoric.sh. Tables are n11 n10 n01 n00.
suppressMessages({library(psych); library(lavaan)})
set.seed(1)
ours <- function(tables) {
  write.table(format(tables, digits = 17), file.path(Sys.getenv("WORK"), "in"), quote = FALSE, row.names = FALSE, col.names = FALSE)
  read.table(text = system2(Sys.getenv("OURS"), stdin = file.path(Sys.getenv("WORK"), "in"), stdout = TRUE),
             col.names = c("rho", "se", "h", "k", "flags"))
}
failed <- 0
check <- function(what, difference, bound) {
  worst <- max(abs(difference))
  cat(sprintf("%-58s %4d values, largest difference %.2g (bound %.2g)\n", what, length(difference), worst, bound))
  if (!isTRUE(worst <= bound)) failed <<- failed + 1
}

# Random tables without an empty cell, and real ones: item pairs of lsat6, lsat7, and 2x2 margins in package datasets.
random <- t(replicate(60, as.vector(rmultinom(1, sample(c(50, 500, 5000), 1), rgamma(4, 1)))))
random <- random[apply(random, 1, min) > 0, ]
items <- function(d) do.call(rbind, combn(ncol(d), 2, function(p) {
  i <- d[, p[1]]; j <- d[, p[2]]
  c(sum(i & j), sum(i & !j), sum(!i & j), sum(!i & !j))
}, simplify = FALSE))
data(bock)
lsat <- lapply(list(lsat6, lsat7), as.matrix)
two <- function(m) c(m[2, 2], m[2, 1], m[1, 2], m[1, 1])
real <- rbind(items(lsat[[1]]), items(lsat[[2]]), two(apply(datasets::Titanic, c("Sex", "Survived"), sum)),
              two(apply(datasets::Titanic, c("Age", "Survived"), sum)), two(apply(datasets::UCBAdmissions, c("Admit", "Gender"), sum)),
              two(table(datasets::mtcars$vs, datasets::mtcars$am)), two(table(datasets::infert$case, datasets::infert$spontaneous > 0)))
tables <- rbind(random, real)
b <- ours(tables)
stopifnot(nrow(b) == nrow(tables), all(b$flags == 0))
total <- rowSums(tables)

# 1. The definition, with another bivariate normal: Phi2(h,k;rho) = p11.
p11 <- sapply(seq_len(nrow(b)), function(i)
  mvtnorm::pmvnorm(upper = c(b$h[i], b$k[i]), corr = matrix(c(1, b$rho[i], b$rho[i], 1), 2), algorithm = mvtnorm::TVPACK(1e-14)))
check("p11 by mvtnorm at our rho", p11 - tables[, 1] / total, 1e-15)
if (requireNamespace("pbivnorm", quietly = TRUE))
  check("p11 by pbivnorm at our rho", pbivnorm::pbivnorm(b$h, b$k, b$rho) - tables[, 1] / total, 1e-15)
check("thresholds by qnorm", c(b$h - qnorm((tables[, 1] + tables[, 2]) / total), b$k - qnorm((tables[, 1] + tables[, 3]) / total)), 2e-15)

# 2. psych: one-dimensional search with a tolerance of 1.2e-4.
theirs <- apply(tables, 1, function(t) suppressMessages(tetrachoric(matrix(t[c(4, 3, 2, 1)], 2, byrow = TRUE), correct = 0)$rho))
check("rho by psych::tetrachoric(correct = 0)", theirs - b$rho, 1e-4)

# 3. lavaan: a gradient search on the two-step likelihood, from raw rows.
some <- which(total <= 5000)
theirs <- sapply(some, function(i) {
  t <- tables[i, ]
  d <- data.frame(a = rep(c(1, 1, 0, 0), t), b = rep(c(1, 0, 1, 0), t))
  unclass(lavCor(d, ordered = c("a", "b")))[1, 2]
})
check("rho by lavaan::lavCor", theirs - b$rho[some], 1e-6)

# 4. Standard errors: numerical delta method on the root, with R's own arithmetic.
root <- function(p) uniroot(function(r) mvtnorm::pmvnorm(upper = qnorm(c(p[1] + p[2], p[1] + p[3])), corr = matrix(c(1, r, r, 1), 2),
                                                        algorithm = mvtnorm::TVPACK(1e-14)) - p[1], c(-.9999, .9999), tol = 1e-13)$root
pick <- which(abs(b$rho) < .9)[1:25]
se <- sapply(pick, function(i) {
  p <- tables[i, ] / total[i]
  step <- 1e-4 * min(p)
  g <- sapply(1:3, function(c) { e <- replace(numeric(4), c(c, 4), c(step, -step)); (root(p + e) - root(p - e)) / (2 * step) })
  v <- diag(p[1:3]) - outer(p[1:3], p[1:3])
  sqrt(drop(g %*% v %*% g) / total[i])
})
check("standard errors, relative, by differences of roots", se / b$se[pick] - 1, 1e-7)

# 5. Empty cells: our fill never turns the sign; psych's 1/2 may.
thin <- rbind(c(0, 14, 193, 44268), c(0, 50, 50, 0), c(0, 3, 4, 93), c(20, 0, 30, 50))
e <- ours(thin)
half <- apply(thin, 1, function(t) suppressMessages(tetrachoric(matrix(t[c(4, 3, 2, 1)], 2, byrow = TRUE), correct = .5)$rho))
cat(sprintf("empty cell in %s: blica %.4f, psych %.4f\n", apply(thin, 1, paste, collapse = "/"), e$rho, half), sep = "")
if (!all(sign(e$rho) == sign(thin[, 1] * thin[, 4] - thin[, 2] * thin[, 3]), abs(e$rho) < 1, e$flags == 1)) failed <- failed + 1
quit(status = failed > 0)
