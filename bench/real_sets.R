# real_sets.R - real sets of R packages as CSV files (class, columns) for density.py --tables FOLDER.  Rscript real_sets.R FOLDER; Debian: r-cran-mlbench,
# r-cran-mclust, r-cran-mass, r-cran-palmerpenguins
library(MASS); library(mlbench); library(mclust); library(palmerpenguins)
folder <- commandArgs(TRUE)[1]
put <- function(name, x, class) {
  whole <- complete.cases(x)
  write.table(cbind(as.integer(as.factor(class[whole])) - 1L, data.matrix(x[whole, ])), file.path(folder, paste0(name, ".csv")), sep = ",", row.names = FALSE, col.names = FALSE)
}
data(Satellite, Shuttle, Vehicle, LetterRecognition, Ionosphere, package = "mlbench")
data(banknote, thyroid, package = "mclust")
put("satellite", Satellite[, 1:36], Satellite$classes)
put("shuttle", Shuttle[, 1:9], Shuttle$Class)
put("vehicle", Vehicle[, 1:18], Vehicle$Class)
put("letters", LetterRecognition[, 2:17], LetterRecognition$lettr)
put("ionosphere", Ionosphere[, 3:34], Ionosphere$Class)
put("crabs", crabs[, 4:8], paste(crabs$sp, crabs$sex))
put("banknote", banknote[, 2:7], banknote$Status)
put("thyroid", thyroid[, 2:6], thyroid$Diagnosis)
put("penguins", penguins[, 3:6], penguins$species)
