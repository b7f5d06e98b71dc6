# Rscript real_sets.R FOLDER [held]: writes real sets of R packages as CSV files (class, columns),
# for density.py --tables FOLDER. Debian has the packages: r-cran-mlbench, r-cran-mclust,
# r-cran-mass and r-cran-palmerpenguins. With `held`, it writes other sets, which were not used to
# choose any constant; they also need r-cran-ddalpha, r-cran-gclus, r-cran-rrcov and r-cran-dslabs.
library(MASS); library(mlbench); library(mclust)
folder <- commandArgs(TRUE)[1]
put <- function(name, x, class) {
  whole <- complete.cases(x)
  write.table(cbind(as.integer(as.factor(class[whole])) - 1L, data.matrix(x[whole, ])), file.path(folder, paste0(name, ".csv")), sep = ",", row.names = FALSE, col.names = FALSE)
}
held <- function() {
  library(ddalpha); library(gclus); library(rrcov); library(dslabs)
  names <- c("baby", "biomed", "breast_cancer_wisconsin", "chemdiab_1vs3", "cloud", "diabetes", "ecoli_cpvsim", "ecoli_imvspp", "gemsen_MvsF", "groessen_MvsF",
             "indian_liver_patient_1vs2", "indian_liver_patient_FvsM", "pima", "socmob_WvsB", "tae", "tennis_MvsF", "tips_DvsN", "tips_MvsF", "veteran_lung_cancer")
  data(list = names, package = "ddalpha", envir = environment())
  for (name in names) { x <- get(name); put(paste0("dd_", name), x[, setdiff(names(x), "C")], x$C) }
  data(body, package = "gclus", envir = environment())
  data(diabetes, package = "mclust", envir = environment())
  data(BreastCancer, Glass, PimaIndiansDiabetes, Sonar, Vowel, package = "mlbench", envir = environment())
  data(fish, fruit, hemophilia, olitos, package = "rrcov", envir = environment())
  data(olive, package = "dslabs", envir = environment())
  put("gclus_body", body[, setdiff(names(body), "Gender")], body$Gender)
  put("mc_diabetes", diabetes[, -1], diabetes$class)
  put("ml_bc", sapply(BreastCancer[, 2:10], as.numeric), BreastCancer$Class)
  put("ml_glass", Glass[, 1:9], Glass$Type)
  put("ml_pima", PimaIndiansDiabetes[, 1:8], PimaIndiansDiabetes$diabetes)
  put("ml_segmentless_synth", synth.tr[, 1:2], synth.tr$yc)
  put("ml_sonar", Sonar[, 1:60], Sonar$Class)
  put("ml_vowel", Vowel[, 2:10], Vowel$Class)
  put("rr_fish", fish[, 1:6], fish$Species)
  put("rr_fruit", fruit[, -1], fruit$cultivar)
  put("rr_hemo", hemophilia[, 1:2], hemophilia$gr)
  put("rr_olitos", olitos[, 1:25], olitos$grp)
  put("olive_region", olive[, 3:10], olive$region)
  put("olive_area", olive[, 3:10], olive$area)
}
if (identical(commandArgs(TRUE)[2], "held")) { held(); quit() }
library(palmerpenguins)
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
